use super::BoxError;
use crate::content::{ContentKind, ContentKinds};

/// A message was not accepted; nothing of it reached the child.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SteerError {
    /// The run takes no more messages.
    #[error(
        "the run has settled or is ending and takes no more messages; resume it, if it can be, or start a new one"
    )]
    Settled,
    /// The message is empty: it has no block but text, and no text but white space.
    #[error("the message is empty or blank; say in it what the child is to know")]
    EmptyMessage,
    /// The message holds content that the provider cannot carry.
    #[error("the run cannot carry {kind} content (block {index} of the message); it carries: {carried}")]
    UnsupportedContent {
        /// The kind of the first block that it cannot carry.
        kind: ContentKind,
        /// That block's place in the message, from 0.
        index: usize,
        /// What it carries.
        carried: ContentKinds,
    },
    /// The provider could not hand the message over.
    #[error("the message could not be handed to the child")]
    Failed {
        /// The provider's own error.
        source: BoxError,
    },
    /// The provider panicked.
    #[error("the provider panicked while it took the message: {message}")]
    Panicked {
        /// What the panic said.
        message: String,
    },
}

impl SteerError {
    /// For providers: the message could not be handed over, and this is why.
    pub fn failed(source: impl Into<BoxError>) -> Self {
        Self::Failed { source: source.into() }
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Settled => "SETTLED",
            Self::EmptyMessage => "EMPTY_MESSAGE",
            Self::UnsupportedContent { .. } => "UNSUPPORTED_CONTENT",
            Self::Failed { .. } => "STEER_FAILED",
            Self::Panicked { .. } => "STEER_PANICKED",
        }
    }
}
