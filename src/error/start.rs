use std::sync::Arc;

use super::{BoxError, NoProvider};
use crate::capability::Capabilities;
use crate::content::{ContentKind, ContentKinds};
use crate::id::RunId;

/// A run did not start: no child exists, nothing needs disposing, and no event was sent.
///
/// A provider makes its own with [`failed`](Self::failed). Why a provider could not start a child is in the
/// [`source`](std::error::Error::source) and not in the text: the [module](crate::error) shows how to print both.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// No provider has the name.
    #[error(transparent)]
    NoProvider(#[from] NoProvider),
    /// The provider is no longer registered. A child that it was just starting was disposed.
    #[error("provider `{provider}` is no longer registered; register it again to start more runs")]
    Unregistered {
        /// The provider's name.
        provider: Arc<str>,
        /// The run's id, where a child was being started.
        run_id: Option<RunId>,
    },
    /// The subagents are shut down.
    #[error("the subagents are shut down; start runs on a new `Subagents`")]
    ShutDown,
    /// There is no Tokio runtime here.
    #[error("a run starts on a Tokio runtime, and none is running here; await the start inside of one")]
    NoRuntime,
    /// The request bounds the run in time, and the Tokio runtime has no timer.
    #[error("the request has a time limit, and this Tokio runtime has no timer; build it with `enable_time`")]
    NoTimer,
    /// The provider lacks a capability that the request asks for.
    #[error(
        "provider `{provider}` does not support the start-time capability `{capability}`; it supports: {supported}"
    )]
    UnsupportedCapability {
        /// The provider's name.
        provider: Arc<str>,
        /// The first capability, in the order asked for, that it lacks.
        capability: String,
        /// What it supports.
        supported: Capabilities,
    },
    /// The parent is bound by a restriction that the provider cannot pass on to its child.
    #[error(
        "the parent is bound by `{capability}`, which provider `{provider}` cannot keep its child to; \
         delegate to a provider that supports `{capability}`"
    )]
    InheritedRestriction {
        /// The provider's name.
        provider: Arc<str>,
        /// The name of the capability that the restriction is a value of.
        capability: &'static str,
    },
    /// The value asked for a capability is not of its type.
    #[error("the request's value for `{capability}` is not usable")]
    InvalidValue {
        /// The capability's name.
        capability: String,
        /// The run's id, where the provider said so.
        run_id: Option<RunId>,
        /// What is wrong with it.
        source: BoxError,
    },
    /// The request asks twice for what a run has once.
    #[error("the request asks for `{capability}` twice; ask for it once")]
    AskedTwice {
        /// The capability's name.
        capability: &'static str,
    },
    /// The prompt is empty: it has no block but text, and no text but white space.
    #[error("the prompt is empty or blank; say in it what the child is to do")]
    EmptyPrompt,
    /// The prompt holds content that the provider cannot carry to its child.
    #[error(
        "provider `{provider}` cannot carry {kind} content (block {index} of the prompt); it carries: {carried}"
    )]
    UnsupportedContent {
        /// The provider's name.
        provider: Arc<str>,
        /// The kind of the first block that it cannot carry.
        kind: ContentKind,
        /// That block's place in the prompt, from 0.
        index: usize,
        /// What it carries.
        carried: ContentKinds,
        /// The run's id, where the provider said so.
        run_id: Option<RunId>,
    },
    /// The child would be deeper than the request or an agent above it allows.
    #[error(
        "the child would be at depth {depth}, and the limit is {max_depth}; do the work in the parent instead"
    )]
    DepthExceeded {
        /// The child's depth.
        depth: u32,
        /// The smallest limit on the path.
        max_depth: u32,
    },
    /// The parent's depth is the largest number there is.
    #[error(
        "the parent's depth, {parent_depth}, leaves no number for its child's; use the parent's real depth"
    )]
    DepthOverflow {
        /// The parent's depth.
        parent_depth: u32,
    },
    /// A run of the chosen id is live already.
    #[error("a run with the id {run_id} is live already; choose another id")]
    DuplicateRun {
        /// The id.
        run_id: RunId,
    },
    /// The run was cancelled before it was published.
    #[error("the start of run {run_id} was cancelled ({cause})")]
    Cancelled {
        /// The run's id.
        run_id: RunId,
        /// Why.
        cause: crate::run::CancelCause,
    },
    /// The provider could not start the child. The text says that it could not, the `source` why.
    #[error("provider `{provider}` could not start run {}", shown(run_id.as_ref()))]
    Failed {
        /// The provider's name.
        provider: Arc<str>,
        /// The run's id.
        run_id: Option<RunId>,
        /// The provider's own error.
        source: BoxError,
    },
    /// The provider panicked in its `start`.
    #[error("provider `{provider}` panicked while it started run {run_id}: {message}")]
    Panicked {
        /// The provider's name.
        provider: Arc<str>,
        /// The run's id.
        run_id: RunId,
        /// What the panic said.
        message: String,
    },
    /// The provider declares a capability but did not take its value. The child was disposed.
    #[error(
        "provider `{provider}` declares `{capability}` but ignored its value in run {run_id}; its `start` must take \
         it from the request (a closure of `provider_fn` does so before its future begins), or not declare it"
    )]
    Ignored {
        /// The provider's name.
        provider: Arc<str>,
        /// The run's id.
        run_id: RunId,
        /// The capability's name.
        capability: String,
    },
}

impl StartError {
    /// For providers: the child could not be started, and this is why. The seam adds the provider's name and the
    /// run's id.
    pub fn failed(source: impl Into<BoxError>) -> Self {
        Self::Failed { provider: "".into(), run_id: None, source: source.into() }
    }

    /// As [`failed`](Self::failed): the provider did not take a requested value.
    pub(crate) fn ignored(run_id: RunId, capability: String) -> Self {
        Self::Ignored { provider: "".into(), run_id, capability }
    }

    /// For providers whose children differ in what they can read: this child cannot read the prompt's block `index`.
    /// The seam adds the provider's name.
    #[must_use]
    pub fn unsupported_content(kind: ContentKind, index: usize, carried: ContentKinds) -> Self {
        Self::UnsupportedContent { provider: "".into(), kind, index, carried, run_id: None }
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProvider(error) => error.code(),
            Self::Unregistered { .. } => "UNREGISTERED",
            Self::ShutDown => "SHUT_DOWN",
            Self::NoRuntime => "NO_RUNTIME",
            Self::NoTimer => "NO_TIMER",
            Self::UnsupportedCapability { .. } => "UNSUPPORTED_CAPABILITY",
            Self::InheritedRestriction { .. } => "INHERITED_RESTRICTION",
            Self::InvalidValue { .. } => "INVALID_VALUE",
            Self::AskedTwice { .. } => "ASKED_TWICE",
            Self::EmptyPrompt => "EMPTY_PROMPT",
            Self::UnsupportedContent { .. } => "UNSUPPORTED_CONTENT",
            Self::DepthExceeded { .. } => "DEPTH_EXCEEDED",
            Self::DepthOverflow { .. } => "DEPTH_OVERFLOW",
            Self::DuplicateRun { .. } => "DUPLICATE_RUN",
            Self::Cancelled { .. } => "CANCELLED",
            Self::Failed { .. } => "START_FAILED",
            Self::Panicked { .. } => "START_PANICKED",
            Self::Ignored { .. } => "CAPABILITY_IGNORED",
        }
    }

    /// The run's id, where the error came after the provider was asked. A request that is refused on its own account
    /// has none; [`Start::run_id`](crate::Start::run_id) tells it beforehand.
    #[must_use]
    pub fn run_id(&self) -> Option<RunId> {
        match self {
            Self::Failed { run_id, .. }
            | Self::Unregistered { run_id, .. }
            | Self::InvalidValue { run_id, .. }
            | Self::UnsupportedContent { run_id, .. } => *run_id,
            Self::DuplicateRun { run_id }
            | Self::Cancelled { run_id, .. }
            | Self::Panicked { run_id, .. }
            | Self::Ignored { run_id, .. } => Some(*run_id),
            _ => None,
        }
    }

    /// Adds what the provider did not know. An error of another start, which the provider made on the way, becomes
    /// the cause.
    pub(crate) fn of_run(self, name: &Arc<str>, id: RunId) -> Self {
        match self {
            Self::Failed { run_id: None, source, .. } => {
                Self::Failed { provider: Arc::clone(name), run_id: Some(id), source }
            }
            Self::Ignored { capability, .. } => {
                Self::Ignored { provider: Arc::clone(name), run_id: id, capability }
            }
            Self::UnsupportedContent { kind, index, carried, .. } => Self::UnsupportedContent {
                provider: Arc::clone(name),
                kind,
                index,
                carried,
                run_id: Some(id),
            },
            Self::InvalidValue { capability, source, .. } => {
                Self::InvalidValue { capability, run_id: Some(id), source }
            }
            own @ (Self::AskedTwice { .. }
            | Self::EmptyPrompt
            | Self::DepthExceeded { .. }
            | Self::DepthOverflow { .. }) => own,
            own if own.run_id() == Some(id) => own,
            other => Self::Failed { provider: Arc::clone(name), run_id: Some(id), source: other.into() },
        }
    }
}

fn shown(run_id: Option<&RunId>) -> String {
    run_id.map_or_else(|| "(no id yet)".to_owned(), ToString::to_string)
}
