use crate::agent::session::{SessionEvent, SessionEventKind, ToolCall, ToolResult};
use crate::content::ContentBlock;

/// One message of a conversation, as models see it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Message<'a> {
    /// A message to the model.
    #[non_exhaustive]
    User {
        /// What it says.
        content: &'a [ContentBlock],
    },
    /// A message of the model.
    #[non_exhaustive]
    Assistant {
        /// What it says; empty where the model only called tools.
        content: &'a [ContentBlock],
        /// The reasoning that came with it.
        thought: Option<&'a str>,
        /// The tools that it calls.
        tool_calls: Vec<&'a ToolCall>,
    },
    /// The results of all calls of the message before.
    #[non_exhaustive]
    ToolResults {
        /// In the order of the log; match them by id.
        results: Vec<&'a ToolResult>,
    },
}

impl<'a> Message<'a> {
    pub(super) fn of(events: impl Iterator<Item = &'a SessionEvent>) -> Vec<Self> {
        let mut messages: Vec<Self> = Vec::new();
        for event in events {
            match (&event.kind, messages.last_mut()) {
                (SessionEventKind::User(message), _) => {
                    messages.push(Self::User { content: &message.content });
                }
                (SessionEventKind::Assistant(message), _) => messages.push(Self::Assistant {
                    content: &message.content,
                    thought: message.thought.as_deref(),
                    tool_calls: Vec::new(),
                }),
                (SessionEventKind::ToolCall(call), Some(Self::Assistant { tool_calls, .. })) => {
                    tool_calls.push(call);
                }
                (SessionEventKind::ToolCall(call), _) => {
                    messages.push(Self::Assistant { content: &[], thought: None, tool_calls: vec![call] });
                }
                (SessionEventKind::ToolResult(result), Some(Self::ToolResults { results })) => {
                    results.push(result);
                }
                (SessionEventKind::ToolResult(result), _) => {
                    messages.push(Self::ToolResults { results: vec![result] });
                }
                _ => {}
            }
        }
        messages
    }
}
