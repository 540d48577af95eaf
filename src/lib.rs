//! The seam through which one agent hands work to another.

#[cfg(feature = "acp")]
pub mod acp;
mod content;
mod stop_reason;
mod update;
mod usage;

pub use content::{
    AudioContent, ContentBlock, ContentKind, ContentKinds, EmbeddedResource, ImageContent, Output,
    ProviderBlock, ProviderContent, ResourceContents, ResourceLink, SnapshotError, TextContent,
};
pub use stop_reason::StopReason;
pub use update::Update;
pub use usage::{ModelUsage, Usage};
