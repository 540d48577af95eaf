use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::held::Held;
use super::resume::resume;
use super::{
    Collected, Dispose, FollowUp, Resumable, Resume, Run, RunCell, Steer, SteeredOnceSettled, Updates,
    Verdict,
};
use crate::capability::StructuredOutput;
use crate::error::{RunFault, StructuredError};
use crate::event::RunInfo;
use crate::id::RunId;
use crate::request::Prompt;
use crate::result::SubagentResult;

/// A settled run: its result, and a child that can be resumed or disposed of.
///
/// Dropping it has the child disposed of in the background, with a warning in the log.
#[must_use = "dropping a `Settled` disposes of its child in the background; `dispose` or `collect` it"]
pub struct Settled<R: Run, O> {
    held: Held<R>,
    result: Result<SubagentResult<O>, RunFault>,
}

impl<R: Run, O> Settled<R, O> {
    pub(super) fn new(held: Held<R>, verdict: Verdict) -> Self {
        let structured_requested = held.cell().structured_requested;
        let result = verdict.map(|outcome| SubagentResult::new(outcome, structured_requested));
        Self { held, result }
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

    /// The run's result.
    ///
    /// # Errors
    ///
    /// [`RunFault`] when the provider broke its promise, so that there is no result. A child's own failure is a
    /// result.
    pub fn result(&self) -> Result<&SubagentResult<O>, RunFault> {
        self.result.as_ref().map_err(Clone::clone)
    }

    /// The structured value that the request asked for. A completed run has it.
    ///
    /// # Errors
    ///
    /// [`StructuredError`] when the run did not complete or has no result, or when a request that was checked at
    /// run time carried no schema.
    pub fn structured<T>(&self) -> Result<T, StructuredError>
    where
        T: DeserializeOwned,
        O: StructuredOutput<R, Value = T>,
    {
        match &self.result {
            Ok(result) => result.decode::<T>(),
            Err(fault) => Err(StructuredError::Fault(fault.clone())),
        }
    }

    /// The updates that are still kept; the stream ends after them.
    pub fn updates(&self) -> Updates {
        Updates::new(Arc::clone(self.cell()))
    }

    /// Starts a follow-up in the same session. It is a run of its own: a new id, its own pair of events, result and
    /// time limit. The first request's limits, filter, persona and output type stay in force.
    ///
    /// # Errors
    ///
    /// [`ResumeError`](crate::ResumeError), in a [`Refused`](crate::Refused) with the settled run as it was.
    ///
    /// # Cancel safety
    ///
    /// Dropped before its first poll or half way, the follow-up is cancelled and the child disposed of in the
    /// background.
    pub fn resume(self, follow_up: impl Into<FollowUp>) -> Resume<R, O>
    where
        R: Resumable,
    {
        resume(self, follow_up.into())
    }

    #[doc(hidden)]
    pub fn send_message(&self, _message: impl Into<Prompt>) -> Steer<'_>
    where
        R: SteeredOnceSettled,
    {
        R::impossible()
    }

    /// Ends the child and waits until it is quiescent.
    ///
    /// # Errors
    ///
    /// [`DisposeError`](crate::DisposeError) when something of the child may be left.
    ///
    /// # Cancel safety
    ///
    /// The disposal goes on in the background if the future is dropped, polled or not.
    pub fn dispose(self) -> Dispose {
        let (run, cell) = self.held.take();
        Dispose::new(run, cell)
    }

    /// Ends the child and returns the result beside the outcome of the disposal.
    ///
    /// # Cancel safety
    ///
    /// The disposal goes on in the background if the future is dropped; the result is lost with it.
    pub async fn collect(self) -> Collected<O> {
        let (run, cell) = self.held.take();
        let disposal = Dispose::new(run, cell).await;
        Collected { result: self.result, disposal }
    }

    pub(super) fn into_parts(self) -> (R, Arc<RunCell>) {
        self.held.take()
    }

    /// The same handle around another form of the run.
    pub(crate) fn map_run<T: Run>(self, change: impl FnOnce(R) -> T) -> Settled<T, O> {
        let (run, cell) = self.held.take();
        Settled { held: Held::new(change(run), cell), result: self.result }
    }

    pub(super) fn cell(&self) -> &Arc<RunCell> {
        self.held.cell()
    }
}

impl<R: Run, O> fmt::Debug for Settled<R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settled")
            .field("run", &self.cell().identity)
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}
