//! The seam through which one agent hands work to another.

pub mod agent;
mod content;
mod id;
mod stop_reason;
pub mod testing;
mod update;
mod usage;

pub use content::{
    AudioContent, ContentBlock, ContentKind, ContentKinds, EmbeddedResource, ImageContent, Output,
    ProviderBlock, ProviderContent, ResourceContents, ResourceLink, SnapshotError, TextContent,
};
pub use id::{AgentId, InvalidRunId, RunId, SessionId};
pub use stop_reason::StopReason;
pub use update::Update;
pub use usage::{ModelUsage, Usage};
