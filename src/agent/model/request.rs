use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::Message;
use crate::agent::session::SessionSnapshot;
use crate::agent::tool::ToolSet;

/// What a model is asked in one call; cheap to clone.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The system prompt.
    pub system_prompt: Option<Arc<str>>,
    /// The session so far; [`messages`](Self::messages) reads it as a conversation.
    pub log: SessionSnapshot,
    /// The tools that the model may call, in a stable order.
    pub tools: ToolSet,
    /// Whether the model may call them this time.
    pub tool_choice: ToolChoice,
    /// The most tokens that the response may have, reasoning included.
    pub max_output_tokens: Option<NonZeroU32>,
    /// What the response's text must look like; only for a model that
    /// [declares it](super::Model::has_response_format).
    pub response_format: Option<ResponseFormat>,
    /// Tells early that the response is not needed any more.
    pub cancellation: CancellationToken,
}

impl ModelRequest {
    /// A request over this session, without anything else.
    #[must_use]
    pub fn new(log: SessionSnapshot) -> Self {
        Self {
            system_prompt: None,
            log,
            tools: ToolSet::new(),
            tool_choice: ToolChoice::Auto,
            max_output_tokens: None,
            response_format: None,
            cancellation: CancellationToken::new(),
        }
    }

    /// The conversation: every tool call has its result, in the message that follows the call's.
    #[must_use]
    pub fn messages(&self) -> Vec<Message<'_>> {
        Message::of(self.log.events())
    }
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ToolChoice {
    /// As the model likes.
    #[default]
    Auto,
    /// Not this time. The tools stay in the request, so that the earlier calls still make sense to the vendor.
    None,
}

/// A JSON schema that the text of a response must match.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResponseFormat {
    /// A short name; some vendors want one.
    pub name: String,
    /// The JSON schema.
    pub schema: Arc<Value>,
}

impl ResponseFormat {
    /// A response format with this name and schema.
    pub fn new(name: impl Into<String>, schema: impl Into<Arc<Value>>) -> Self {
        Self { name: name.into(), schema: schema.into() }
    }
}
