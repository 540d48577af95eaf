use serde_json::Value;

use crate::content::ContentBlock;
use crate::usage::ModelUsage;

/// One piece of a model's response.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ModelEvent {
    /// More text of the message.
    Text(String),
    /// A whole block of the message that is not text, for example an image.
    Content(ContentBlock),
    /// More of the reasoning.
    Thought(String),
    /// A whole tool call.
    ToolCall {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments as the model wrote them: JSON where all is well. Empty text counts as `{}`.
        arguments: String,
    },
    /// What the call used.
    Usage(ModelUsage),
    /// The response is complete.
    Finish(FinishReason),
}

impl ModelEvent {
    /// More text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// More reasoning.
    pub fn thought(text: impl Into<String>) -> Self {
        Self::Thought(text.into())
    }

    /// A tool call whose arguments are well-formed.
    pub fn tool_call(id: impl Into<String>, name: impl Into<String>, arguments: &Value) -> Self {
        Self::ToolCall { id: id.into(), name: name.into(), arguments: arguments.to_string() }
    }
}

/// Why a model's response ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model has said what it wanted to.
    Stop,
    /// The model waits for the results of its tool calls.
    ToolCalls,
    /// The output-token cap cut the response.
    MaxTokens,
    /// The model or a filter declined.
    Refusal,
    /// A reason of the vendor's, in its word.
    Other(String),
}
