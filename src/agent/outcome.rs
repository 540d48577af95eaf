use serde_json::Value;

use crate::content::{ContentBlock, Output};
use crate::id::RunId;
use crate::stop_reason::StopReason;
use crate::usage::Usage;

/// How a turn ended and what it brought.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TurnOutcome {
    /// Why the turn ended.
    pub stop_reason: StopReason,
    /// What the agent said in this turn: its last message that is not empty, the unfinished one included.
    pub output: Output,
    /// The value that the agent was to deliver. A completed turn has it; a turn that ended at its step limit may.
    pub structured: Option<Value>,
    /// What went wrong, safe to show; `None` where nothing did.
    pub diagnostic: Option<String>,
    /// What the turn used, its own model calls and its descendants', also where it failed or was cancelled.
    pub usage: Usage,
    /// The messages in the inbox that the model did not see, in order.
    pub undelivered: Vec<Vec<ContentBlock>>,
    /// The background children that still work, or whose outcome the model was not told: the agent's
    /// [delegations](super::Agent::delegations) have them.
    pub outstanding: Vec<RunId>,
    /// How many model calls were made.
    pub steps: u32,
}
