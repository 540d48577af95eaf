use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a run ended. Its JSON form is a word: `"completed"`, `"max_tokens"`, or a provider's own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The child finished its task.
    Completed,
    /// The run was cancelled.
    Aborted,
    /// The child failed; the diagnostic says how.
    Error,
    /// The child declined the task.
    Refusal,
    /// The model reached its output-token limit.
    MaxTokens,
    /// The child reached its limit of turns or steps.
    TurnLimit,
    /// A deadline or an idle limit passed.
    TimeLimit,
    /// A reason that a provider defines, as the provider words it.
    Other(Arc<str>),
}

impl StopReason {
    /// The word for this reason, as in JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Completed => "completed",
            Self::Aborted => "aborted",
            Self::Error => "error",
            Self::Refusal => "refusal",
            Self::MaxTokens => "max_tokens",
            Self::TurnLimit => "turn_limit",
            Self::TimeLimit => "time_limit",
            Self::Other(word) => word,
        }
    }

    /// Whether the child finished its task.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        *self == Self::Completed
    }
}

impl From<&str> for StopReason {
    fn from(word: &str) -> Self {
        match word {
            "completed" => Self::Completed,
            "aborted" => Self::Aborted,
            "error" => Self::Error,
            "refusal" => Self::Refusal,
            "max_tokens" => Self::MaxTokens,
            "turn_limit" => Self::TurnLimit,
            "time_limit" => Self::TimeLimit,
            _ => Self::Other(word.into()),
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for StopReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for StopReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|word| Self::from(word.as_str()))
    }
}
