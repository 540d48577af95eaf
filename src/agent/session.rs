//! The log of one agent's conversation.

mod error;
mod event;
mod grammar;
mod header;
mod json_lines;
mod prefix;
mod snapshot;
mod writer;

pub use error::{AppendError, LoadSessionError};
pub use event::{
    AssistantMessage, MessageOrigin, SessionEvent, SessionEventKind, ToolCall, ToolResult, UserMessage,
};
pub use header::SessionHeader;
pub use prefix::SessionPrefix;
pub use snapshot::{Session, SessionSnapshot};
pub use writer::SessionWriter;
