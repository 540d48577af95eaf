//! Content blocks: what prompts, messages and outputs are made of.
//!
//! The shapes of text, image, audio, resource link and embedded resource are those that the
//! [Model Context Protocol](https://modelcontextprotocol.io/specification/2025-06-18/server/tools)
//! and the [Agent Client Protocol](https://agentclientprotocol.com/protocol/content) share.

mod block;
mod kinds;
mod output;
mod provider_block;

pub use block::{
    AudioContent, ContentBlock, EmbeddedResource, ImageContent, ResourceContents, ResourceLink, TextContent,
};
pub use kinds::{ContentKind, ContentKinds};
pub use output::Output;
pub use provider_block::{ProviderBlock, ProviderContent, SnapshotError};

/// The text blocks of a prompt or a message, joined by blank lines.
pub(crate) fn joined_text(content: &[ContentBlock]) -> String {
    content.iter().filter_map(ContentBlock::as_text).collect::<Vec<_>>().join("\n\n")
}
