//! Identifiers: of runs, agents and sessions. Each is a type of its own, so one is never passed for another.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The id of one run: a UUID, version 7 unless the caller chose another. One that is made here is unique; one that the
/// caller chooses is refused only where a live run has it.
///
/// ```
/// let id = subagent::RunId::new();
/// assert_eq!(id.to_string().parse::<subagent::RunId>().ok(), Some(id));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Uuid);

impl RunId {
    /// A new id; later ids sort after earlier ones.
    #[expect(clippy::new_without_default, reason = "a new id is not a default value")]
    #[must_use]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// An id from its 16 bytes, for callers whose runs have UUIDs already.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The id's 16 bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunId {
    type Err = InvalidRunId;

    fn from_str(text: &str) -> Result<Self, InvalidRunId> {
        Uuid::try_parse(text).map(Self).map_err(|_| InvalidRunId)
    }
}

/// The text is not a run id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a run id is a UUID, for example 0198c5d2-7a4e-7c1f-9b3a-2f6d1e8c4b5a")]
#[non_exhaustive]
pub struct InvalidRunId;

impl InvalidRunId {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "INVALID_RUN_ID"
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// A new unique id.
            #[expect(clippy::new_without_default, reason = "a new id is not a default value")]
            #[must_use]
            pub fn new() -> Self {
                Self(Uuid::now_v7().to_string().into())
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

text_id! {
    /// The id of an agent, as its host words it; cheap to clone.
    AgentId
}

text_id! {
    /// The id of a session, as its host words it; cheap to clone.
    SessionId
}

/// The id of the agent that works in a run: the run's own, in its text form.
impl From<RunId> for AgentId {
    fn from(run: RunId) -> Self {
        run.to_string().into()
    }
}
