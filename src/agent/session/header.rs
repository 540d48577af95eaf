use std::num::NonZeroU32;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::capability::ToolFilter;
use crate::id::SessionId;

/// What is known of a session from its beginning; it does not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionHeader {
    /// The session's own id.
    pub id: SessionId,
    /// The session of the agent that delegated to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// How many agents are above this one: 0 for a top-level agent.
    #[serde(default)]
    pub depth: u32,
    /// The depth that no descendant may exceed: the smallest cap on the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_depth: Option<u32>,
    /// How many events at the log's beginning are inherited from the parent's log.
    #[serde(default)]
    pub seed_length: u64,
    /// Where the agent works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_dir: Option<PathBuf>,
    /// The model that the agent really runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which tools this agent and all below it may see and use: what every delegation on the path permits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_filter: Option<ToolFilter>,
    /// The most steps of one turn of this agent and all below it: the smallest limit asked for on the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<NonZeroU32>,
    /// The most tokens of one model response of this agent and all below it: the smallest limit asked for on the
    /// path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<NonZeroU32>,
}

impl SessionHeader {
    /// The header of a top-level session without working directory, model and limits.
    #[must_use]
    pub fn new(id: SessionId) -> Self {
        Self {
            id,
            parent: None,
            depth: 0,
            max_depth: None,
            seed_length: 0,
            working_dir: None,
            model: None,
            tool_filter: None,
            max_steps: None,
            max_output_tokens: None,
        }
    }

    /// Says where the agent works.
    #[must_use]
    pub fn with_working_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.working_dir = Some(path.into());
        self
    }
}
