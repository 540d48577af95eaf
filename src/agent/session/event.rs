use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::{ContentBlock, Output};
use crate::stop_reason::StopReason;
use crate::usage::ModelUsage;

/// One entry of a session's log. Its JSON form is one flat object: `{"seq":0,"type":"turn_start"}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SessionEvent {
    /// The place in the log, from 0, without gaps.
    #[serde(rename = "seq")]
    pub sequence: u64,
    /// What happened.
    #[serde(flatten)]
    pub kind: SessionEventKind,
}

/// What happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum SessionEventKind {
    /// A turn began: the agent took up a prompt.
    TurnStart,
    /// The turn ended; everything up to here is what a fork may inherit.
    TurnEnd {
        /// Why.
        reason: StopReason,
    },
    /// A step began: one model call and the tool calls that it asks for.
    StepStart,
    /// The step ended.
    StepEnd {
        /// What the step's model call used, as far as the model reported it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        usage: Vec<ModelUsage>,
    },
    /// A message to the model.
    User(UserMessage),
    /// A message of the model.
    Assistant(AssistantMessage),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// What a tool returned, or why it did not run.
    ToolResult(ToolResult),
    /// Anything a host wants to keep with the log; the model never sees it.
    Metadata {
        /// What it is.
        key: String,
        /// The host's data.
        value: Value,
    },
}

/// A message to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UserMessage {
    /// Who wrote it.
    pub origin: MessageOrigin,
    /// What it says.
    pub content: Vec<ContentBlock>,
}

impl UserMessage {
    /// A message with this content.
    #[must_use]
    pub fn new(origin: MessageOrigin, content: Vec<ContentBlock>) -> Self {
        Self { origin, content }
    }
}

/// Who wrote a message to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MessageOrigin {
    /// The caller: it began the turn.
    Prompt,
    /// The caller, while the turn was running.
    Steering,
    /// The agent's own loop, for example before a limit.
    Notice,
    /// A child in the background: how it ended, with what it said in a frame that says so.
    Subagent,
}

/// A message of the model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AssistantMessage {
    /// What it says; what was received of it where the turn was cut off.
    #[serde(default, skip_serializing_if = "has_no_block")]
    pub content: Output,
    /// The reasoning that the model showed with it; never part of an output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought: Option<String>,
}

impl AssistantMessage {
    /// A message with this content.
    pub fn new(content: impl Into<Output>) -> Self {
        Self { content: content.into(), thought: None }
    }
}

fn has_no_block(content: &Output) -> bool {
    content.is_empty()
}

/// The model asks for a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolCall {
    /// Unique within its run, and stable if the step is run again.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments: an object, or the text as it came where the model did not write an object.
    #[serde(default)]
    pub arguments: Value,
}

impl ToolCall {
    /// A call of the tool `name`.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments }
    }
}

/// What a tool returned, or why it did not run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// What the model sees.
    #[serde(default)]
    pub content: Vec<ContentBlock>,
    /// Whether the call failed.
    #[serde(default)]
    pub is_error: bool,
}

impl ToolResult {
    /// The result of the call `id`.
    pub fn new(id: impl Into<String>, content: Vec<ContentBlock>, is_error: bool) -> Self {
        Self { id: id.into(), content, is_error }
    }
}
