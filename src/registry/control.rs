use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;

use crate::event::RunInfo;
use crate::id::RunId;
use crate::run::{CancelCause, Cancellation, Phase, RunCell, Updates};

/// A view of a run apart from its owning handle: to watch it and to cancel it. Cheap to clone; it keeps no child
/// alive.
#[derive(Clone)]
pub struct RunControl {
    cell: Arc<RunCell>,
}

impl RunControl {
    pub(super) fn new(cell: Arc<RunCell>) -> Self {
        Self { cell }
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.cell.identity.run_id
    }

    /// Which run this is, as its events say it.
    #[must_use]
    pub fn info(&self) -> &RunInfo {
        &self.cell.identity
    }

    /// What the run is doing.
    #[must_use]
    pub fn state(&self) -> RunState {
        self.cell.phase().into()
    }

    /// When the child last reported something, or was started.
    #[must_use]
    pub fn last_activity(&self) -> Option<Instant> {
        self.cell.last_activity()
    }

    /// Cancels the run, as [`Live::cancel`](crate::Live::cancel) does.
    pub fn cancel(&self, reason: impl Into<Arc<str>>) {
        self.cell.cancel(CancelCause::Requested(reason.into()));
    }

    /// The run's cancellation, to watch or to link other work to.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        Cancellation::new(Arc::clone(&self.cell))
    }

    /// A stream of what the child reports, from the run's start as far as it is still kept.
    pub fn updates(&self) -> Updates {
        Updates::new(Arc::clone(&self.cell))
    }

    /// Returns when the run has settled.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe: nothing is lost by dropping the future.
    pub async fn settled(&self) {
        self.cell.gone().await;
    }
}

impl fmt::Debug for RunControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunControl")
            .field("run", self.info())
            .field("state", &self.state())
            .finish_non_exhaustive()
    }
}

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunState {
    /// Its provider is starting it; it is not published yet.
    Starting,
    /// It is published, and its child works.
    Live,
    /// It is settling: listeners are being told.
    Ending,
    /// It has settled.
    Settled,
}

impl From<Phase> for RunState {
    fn from(phase: Phase) -> Self {
        match phase {
            Phase::Starting => Self::Starting,
            Phase::Publishing | Phase::Live => Self::Live,
            Phase::Ending => Self::Ending,
            Phase::Done | Phase::Abandoned => Self::Settled,
        }
    }
}
