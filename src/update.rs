use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ContentBlock;
use crate::usage::ModelUsage;

/// One piece of progress that a child reports while it runs.
///
/// A tool call, a tool result and [`MessageEnd`](Self::MessageEnd) end the assistant message that the
/// [`Text`](Self::Text) before them belongs to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Update {
    /// More text of the current assistant message.
    Text {
        /// The piece that was added.
        text: String,
    },
    /// More of the child's reasoning; never part of its output.
    Thought {
        /// The piece that was added.
        text: String,
    },
    /// The current assistant message is complete.
    MessageEnd,
    /// The child calls a tool.
    ToolCall {
        /// Unique within the run.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments, as far as the provider knows them.
        #[serde(default, skip_serializing_if = "Value::is_null")]
        arguments: Value,
    },
    /// A tool call ended.
    ToolResult {
        /// The id of the call.
        id: String,
        /// What the tool returned.
        #[serde(default)]
        content: Vec<ContentBlock>,
        /// Whether the tool failed.
        #[serde(default)]
        is_error: bool,
    },
    /// One model call's usage; add them up for a total so far.
    Usage(ModelUsage),
    /// Progress of a kind that a provider defines (a plan, a permission asked for).
    Other {
        /// The provider's word for it.
        kind: String,
        /// The provider's data.
        #[serde(default)]
        data: Value,
    },
}

impl Update {
    /// A piece of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A piece of reasoning.
    pub fn thought(text: impl Into<String>) -> Self {
        Self::Thought { text: text.into() }
    }

    /// A tool call.
    pub fn tool_call(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self::ToolCall { id: id.into(), name: name.into(), arguments }
    }

    /// A tool result.
    pub fn tool_result(id: impl Into<String>, content: Vec<ContentBlock>, is_error: bool) -> Self {
        Self::ToolResult { id: id.into(), content, is_error }
    }
}
