use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use super::held::Held;
use super::steer::steer;
use super::{
    CancelCause, Cancellation, Collected, Dispose, FollowUp, Resume, ResumedWhileLive, Run, RunCell, Settled,
    Steer, Steerable, Updates,
};
use crate::error::RunFault;
use crate::event::RunInfo;
use crate::id::RunId;
use crate::registry::RunControl;
use crate::request::Prompt;
use crate::result::SubagentResult;

/// A live run: the handle that its caller owns. `O` is the type of the run's structured output.
///
/// The child lives no longer than this handle: dropping it cancels the run and has the child disposed of in the
/// background, with a warning in the log. [`collect`](Self::collect) or [`dispose`](Self::dispose) it instead.
#[must_use = "dropping a `Live` cancels the run; `collect` or `dispose` it"]
pub struct Live<R: Run, O> {
    held: Held<R>,
    output_type: PhantomData<fn() -> O>,
}

impl<R: Run, O> Live<R, O> {
    pub(crate) fn new(run: R, cell: Arc<RunCell>) -> Self {
        Self { held: Held::new(run, cell), output_type: PhantomData }
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.cell().identity.run_id
    }

    /// Which run this is, as its events say it.
    #[must_use]
    pub fn info(&self) -> &RunInfo {
        &self.cell().identity
    }

    /// The run that this one follows up.
    #[must_use]
    pub fn resumed_from(&self) -> Option<RunId> {
        self.cell().identity.resumed_from
    }

    /// The provider's own run, for what it offers beside the seam: an in-process child's session, for example.
    #[must_use]
    pub fn run(&self) -> &R {
        self.held.run()
    }

    /// Waits for the run's result, without giving up the handle. Any number of callers may wait.
    ///
    /// # Errors
    ///
    /// [`RunFault`] when the provider broke its promise, so that there is no result. A child's own failure is a
    /// result.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe: dropping the future loses nothing, and the run goes on.
    pub async fn result(&self) -> Result<SubagentResult<O>, RunFault> {
        let verdict = self.cell().settled().await;
        verdict.map(|outcome| SubagentResult::new(outcome, self.cell().structured_requested))
    }

    /// Waits until the run has settled.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the handle: the run is cancelled and the child disposed of in the background. To
    /// wait and keep the handle, use [`result`](Self::result) or [`settle_within`](Self::settle_within).
    pub async fn settle(self) -> Settled<R, O> {
        let verdict = self.cell().take_verdict().await;
        Settled::new(self.held, verdict)
    }

    /// Waits until the run has settled, at most this long.
    ///
    /// # Errors
    ///
    /// The handle itself when the time has passed; the run goes on. Where there is no timer, on a Tokio runtime built
    /// without one, no time passes: the handle of a live run comes back at once.
    ///
    /// # Cancel safety
    ///
    /// As [`settle`](Self::settle).
    pub async fn settle_within(self, limit: Duration) -> Result<Settled<R, O>, Self> {
        let verdict = tokio::select! {
            biased;
            verdict = self.cell().take_verdict() => verdict,
            () = self.cell().pass(limit) => return Err(self),
        };
        Ok(Settled::new(self.held, verdict))
    }

    /// Waits until the run has settled and disposes of its child: the whole way, on every path.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future drops the handle: the run is cancelled unless it has settled, and the child disposed of
    /// in the background.
    pub async fn collect(self) -> Collected<O> {
        self.settle().await.collect().await
    }

    /// Cancels the run. The provider is told first and may settle with what it has; if it has not within the
    /// grace, the seam settles it as aborted with the text streamed so far. Cancelling again changes nothing.
    pub fn cancel(&self, reason: impl Into<Arc<str>>) {
        self.cell().cancel(CancelCause::Requested(reason.into()));
    }

    /// The run's cancellation, to watch or to link other work to.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        Cancellation::new(Arc::clone(self.cell()))
    }

    /// A stream of what the child reports, from the run's start as far as it is still kept.
    pub fn updates(&self) -> Updates {
        Updates::new(Arc::clone(self.cell()))
    }

    /// Ends the child and waits until it is quiescent. A run that has not settled is cancelled and settles first.
    ///
    /// # Errors
    ///
    /// [`DisposeError`](crate::DisposeError) when something of the child may be left.
    ///
    /// # Cancel safety
    ///
    /// The disposal goes on in the background if the future is dropped, polled or not.
    pub fn dispose(self) -> Dispose {
        self.cell().cancel(CancelCause::Disposed);
        let (run, cell) = self.held.take();
        Dispose::new(run, cell)
    }

    /// Hands the child a message while it works. `Ok` means accepted: the child's model sees it before the run
    /// settles, in the order accepted; what a cancelled or failed run did not deliver is listed in its result.
    ///
    /// # Errors
    ///
    /// [`SteerError`](crate::SteerError): [`Settled`](crate::SteerError::Settled) when the child takes no more
    /// messages; also for an empty message, and for content that the provider cannot carry.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped half way, the message was accepted or not, as a whole.
    pub fn send_message(&self, message: impl Into<Prompt>) -> Steer<'_>
    where
        R: Steerable,
    {
        steer(self.run(), self.cell(), message.into())
    }

    #[doc(hidden)]
    pub fn resume(self, _follow_up: impl Into<FollowUp>) -> Resume<R, O>
    where
        R: ResumedWhileLive,
    {
        R::impossible()
    }

    pub(crate) fn into_parts(self) -> (R, Arc<RunCell>) {
        self.held.take()
    }

    /// The same handle, without the type of its structured output.
    pub(crate) fn without_output_type(self) -> Live<R, crate::capability::NoOutput> {
        Live { held: self.held, output_type: PhantomData }
    }

    /// A view of the run.
    pub(crate) fn control(&self) -> RunControl {
        RunControl::new(Arc::clone(self.cell()))
    }

    fn cell(&self) -> &Arc<RunCell> {
        self.held.cell()
    }
}

impl<R: Run, O> fmt::Debug for Live<R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("run", &self.cell().identity).finish_non_exhaustive()
    }
}
