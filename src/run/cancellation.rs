use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::RunCell;
use crate::stop_reason::StopReason;

/// How a provider learns that its run is cancelled. Level-triggered: a cancellation that came before anyone looked
/// is still seen. Cheap to clone.
#[derive(Clone)]
pub struct Cancellation {
    cell: Arc<RunCell>,
}

impl Cancellation {
    pub(crate) fn new(cell: Arc<RunCell>) -> Self {
        Self { cell }
    }

    /// Whether the run is cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cause().is_some()
    }

    /// Why the run is cancelled, if it is.
    #[must_use]
    pub fn cause(&self) -> Option<CancelCause> {
        self.cell.cancel_cause()
    }

    /// Returns once the run is cancelled.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe: nothing is lost by dropping the future.
    pub async fn cancelled(&self) {
        self.cell.cancelled().await;
    }

    /// A token that is cancelled with the run: for the child's own work and for its children.
    #[must_use]
    pub fn token(&self) -> CancellationToken {
        self.cell.token()
    }
}

impl fmt::Debug for Cancellation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancellation").field("cause", &self.cause()).finish()
    }
}

/// Why a run is cancelled. The first cause stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CancelCause {
    /// The holder of the run cancelled it and gave this reason.
    Requested(Arc<str>),
    /// The request's or the parent's token was cancelled.
    Token,
    /// The run's time limit passed.
    TimeLimit,
    /// The handle was disposed before the run settled.
    Disposed,
    /// The handle was dropped, or the caller left while the run was starting.
    Dropped,
    /// `Subagents` is shutting down.
    Shutdown,
    /// The Tokio runtime that the run lived on has shut down, and its child went with it.
    RuntimeGone,
}

impl CancelCause {
    /// The stop reason of a run that is cancelled for this cause.
    #[must_use]
    pub fn stop_reason(&self) -> StopReason {
        match self {
            Self::TimeLimit => StopReason::TimeLimit,
            _ => StopReason::Aborted,
        }
    }
}

impl fmt::Display for CancelCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Requested(reason) if reason.is_empty() => f.write_str("cancelled"),
            Self::Requested(reason) => write!(f, "cancelled: {reason}"),
            Self::Token => f.write_str("cancelled by the caller's token"),
            Self::TimeLimit => f.write_str("the time limit passed"),
            Self::Disposed => f.write_str("disposed before it settled"),
            Self::Dropped => f.write_str("its handle was dropped"),
            Self::Shutdown => f.write_str("the subagents are shutting down"),
            Self::RuntimeGone => f.write_str("its Tokio runtime has shut down"),
        }
    }
}
