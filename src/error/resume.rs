use super::BoxError;
use crate::content::{ContentKind, ContentKinds};
use crate::id::RunId;
use crate::run::CancelCause;

/// A settled run was not resumed; it is as settled as before, and no event was sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The subagents are shut down.
    #[error("the subagents are shut down; no run can be resumed any more")]
    ShutDown,
    /// There is no Tokio runtime here.
    #[error("a run resumes on a Tokio runtime, and none is running here; await it inside of one")]
    NoRuntime,
    /// The follow-up is bounded in time, and the Tokio runtime has no timer.
    #[error(
        "the follow-up has a time limit, and this Tokio runtime has no timer; build it with `enable_time`"
    )]
    NoTimer,
    /// The follow-up is empty: it has no block but text, and no text but white space.
    #[error("the follow-up is empty or blank; say in it what the child is to do next")]
    EmptyMessage,
    /// The follow-up holds content that the provider cannot carry.
    #[error("the run cannot carry {kind} content (block {index} of the follow-up); it carries: {carried}")]
    UnsupportedContent {
        /// The kind of the first block that it cannot carry.
        kind: ContentKind,
        /// That block's place in the follow-up, from 0.
        index: usize,
        /// What it carries.
        carried: ContentKinds,
    },
    /// A run of the chosen id is live already.
    #[error("a run with the id {run_id} is live already; choose another id")]
    DuplicateRun {
        /// The id.
        run_id: RunId,
    },
    /// The follow-up was cancelled before it was published.
    #[error("the resumption as run {run_id} was cancelled ({cause})")]
    Cancelled {
        /// The new run's id.
        run_id: RunId,
        /// Why.
        cause: CancelCause,
    },
    /// The provider could not resume the child.
    #[error("the child could not be resumed")]
    Failed {
        /// The provider's own error.
        source: BoxError,
    },
    /// The provider panicked.
    #[error("the provider panicked while it resumed the child: {message}")]
    Panicked {
        /// What the panic said.
        message: String,
    },
}

impl ResumeError {
    /// For providers: the child could not be resumed, and this is why.
    pub fn failed(source: impl Into<BoxError>) -> Self {
        Self::Failed { source: source.into() }
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::ShutDown => "SHUT_DOWN",
            Self::NoRuntime => "NO_RUNTIME",
            Self::NoTimer => "NO_TIMER",
            Self::EmptyMessage => "EMPTY_MESSAGE",
            Self::UnsupportedContent { .. } => "UNSUPPORTED_CONTENT",
            Self::DuplicateRun { .. } => "DUPLICATE_RUN",
            Self::Cancelled { .. } => "CANCELLED",
            Self::Failed { .. } => "RESUME_FAILED",
            Self::Panicked { .. } => "RESUME_PANICKED",
        }
    }
}
