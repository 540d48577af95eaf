use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::Span;

use super::cell::Verdict;
use super::{CancelCause, Cancellation, Inbox, InboxSender, Progress, RunCell, inbox};
use crate::content::Output;
use crate::error::{RunFault, StartError};
use crate::event::RunInfo;
use crate::id::RunId;
use crate::result::Outcome;
use crate::stop_reason::StopReason;

/// The one-shot token with which a provider ends a run. It is owned, so a run settles exactly once.
///
/// Dropping it without settling is a fault of the provider, [`RunFault::SettlementLost`]; dropping it in a panic
/// means that the child panicked, which is a result with [`StopReason::Error`](crate::StopReason::Error); dropping
/// it after a cancellation, or with the run's whole runtime, settles the run as cancelled.
#[must_use = "dropping a `Settlement` without settling is a fault of the provider; call `settle`"]
pub struct Settlement {
    cell: Arc<RunCell>,
    target: Option<Target>,
    /// Whether a task of ours holds it, which is dropped only when it is ended from outside.
    held_by_task: bool,
}

type Change = Box<dyn FnOnce(Outcome) -> Outcome + Send>;

enum Target {
    Run,
    /// The mutex is never locked: it makes a settlement `Sync`, so that a reference to it may live across an `.await`.
    Mapped(Mutex<Change>, Box<Self>),
    Wrapper(oneshot::Sender<Verdict>),
}

impl Settlement {
    /// Ends the run.
    pub fn settle(mut self, outcome: Outcome) {
        self.end(Ok(outcome));
    }

    /// Ends the run: the child finished and said this.
    pub fn complete(self, output: impl Into<Output>) {
        self.settle(Outcome::completed(output));
    }

    /// The run's id.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        self.cell.identity.run_id
    }

    /// Which run this is, as its events say it.
    #[must_use]
    pub fn info(&self) -> &RunInfo {
        &self.cell.identity
    }

    /// Where the child's progress is reported.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress::new(Arc::clone(&self.cell))
    }

    /// How the child learns that the run is cancelled.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        Cancellation::new(Arc::clone(&self.cell))
    }

    /// An inbox for a child that takes messages: the run keeps the sender, and the child reads. A run that settles
    /// lists in its outcome what the child did not receive.
    pub fn inbox(&self) -> (InboxSender, Inbox) {
        inbox::open(&self.cell)
    }

    /// For wrappers: a settlement for the provider inside whose outcome passes through `change` first, with the text
    /// reported so far where it has no output of its own. A lost settlement passes by as it is.
    ///
    /// It changes this one outcome. A follow-up of the run has a settlement of its own, which the wrapper has to map
    /// again: [`wrap::MappedRun`](crate::wrap::MappedRun) does, or a run type of the wrapper's own in its
    /// [`Run::resume_with`](crate::Run::resume_with).
    pub fn map(mut self, change: impl FnOnce(Outcome) -> Outcome + Send + 'static) -> Self {
        let target =
            self.target.take().map(|target| Target::Mapped(Mutex::new(Box::new(change)), Box::new(target)));
        Self { cell: Arc::clone(&self.cell), target, held_by_task: false }
    }

    /// For wrappers: a settlement for the provider inside, and its outcome for the wrapper, which keeps the run's
    /// own settlement and decides. An outcome without output has the text reported so far.
    pub fn intercept(&self) -> (Self, Intercepted) {
        let (sender, receiver) = oneshot::channel();
        let run_id = self.run_id();
        let inner =
            Self { cell: Arc::clone(&self.cell), target: Some(Target::Wrapper(sender)), held_by_task: false };
        (inner, Intercepted { receiver, run_id })
    }

    /// For wrappers: ends the run as the provider inside did.
    ///
    /// # Errors
    ///
    /// None of its own: a fault becomes the run's.
    pub fn forward(mut self, inner: Result<Outcome, RunFault>) {
        self.end(inner);
    }

    /// For wrappers that start another child after the first one failed: returns once the run is published, `true`,
    /// or its start was given up, `false`. Until then, what the first child took counts, and only that.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe: nothing is lost by dropping the future.
    pub async fn published(&self) -> bool {
        self.cell.published().await
    }

    /// For a task that settles on every path of its own: dropped without that, the task was ended by a disposal or
    /// with its runtime, which is an abort and no fault.
    pub(crate) fn held_by_task(mut self) -> Self {
        self.held_by_task = true;
        self
    }

    /// The run's span, to say in it what its provider alone knows; disabled where nobody listens.
    pub(crate) fn span(&self) -> Span {
        self.cell.span()
    }

    /// How long a cancelled child has to end by itself.
    pub(crate) fn cancel_grace(&self) -> Duration {
        self.cell.hub.cancel_grace()
    }

    /// Whether every requested value has been taken by now, for a provider whose child could take it too late.
    pub(crate) fn check_taken(&self) -> Result<(), StartError> {
        match self.cell.first_ignored() {
            Some(capability) => Err(StartError::ignored(self.run_id(), capability)),
            None => Ok(()),
        }
    }

    fn end(&mut self, verdict: Verdict) {
        if let Some(target) = self.target.take() {
            target.reach(&self.cell, verdict);
        }
    }
}

// Not a function of the type: the compiler would offer it to who has no business to make one.
impl RunCell {
    /// The token with which the provider ends this run.
    pub(crate) fn settlement(self: &Arc<Self>) -> Settlement {
        Settlement { cell: Arc::clone(self), target: Some(Target::Run), held_by_task: false }
    }
}

impl Target {
    fn reach(self, cell: &Arc<RunCell>, verdict: Verdict) {
        match self {
            Self::Run => cell.settle(verdict),
            Self::Mapped(change, next) => {
                let change = change.into_inner().unwrap_or_else(PoisonError::into_inner);
                let changed = with_streamed(cell, verdict).map(|outcome| {
                    crate::error::contain(|| change(outcome)).unwrap_or_else(|message| {
                        Outcome::error(format!(
                            "a wrapper panicked while it looked at the outcome: {message}"
                        ))
                    })
                });
                next.reach(cell, changed);
            }
            Self::Wrapper(wrapper) => {
                // Where the wrapper is gone, nobody decides any more, and nothing is lost but this verdict.
                wrapper.send(with_streamed(cell, verdict)).ok();
            }
        }
    }
}

/// What a wrapper sees: an outcome without output has what the child streamed.
fn with_streamed(cell: &RunCell, verdict: Verdict) -> Verdict {
    verdict.map(
        |outcome| {
            if outcome.output.is_empty() { outcome.with_output(cell.streamed()) } else { outcome }
        },
    )
}

impl Drop for Settlement {
    fn drop(&mut self) {
        if self.held_by_task {
            self.end(Ok(Outcome::new(StopReason::Aborted)));
        } else if std::thread::panicking() {
            self.end(Ok(Outcome::error("the child panicked")));
        } else if self.target.is_some() {
            if self.cell.runtime_is_gone() {
                // Its child was dropped with everything else on the runtime, which is nobody's fault.
                self.cell.cancel(CancelCause::RuntimeGone);
            }
            self.end(Err(RunFault::SettlementLost { run_id: self.run_id() }));
        }
    }
}

impl fmt::Debug for Settlement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settlement").field("run_id", &self.run_id()).finish_non_exhaustive()
    }
}

/// How the provider inside a wrapper ended: a future.
///
/// # Cancel safety
///
/// Cancel-safe: it can be awaited again through a mutable reference.
#[must_use = "futures do nothing unless awaited"]
#[derive(Debug)]
pub struct Intercepted {
    receiver: oneshot::Receiver<Verdict>,
    run_id: RunId,
}

impl Future for Intercepted {
    type Output = Result<Outcome, RunFault>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let run_id = self.run_id;
        Pin::new(&mut self.receiver)
            .poll(context)
            .map(|received| received.unwrap_or(Err(RunFault::SettlementLost { run_id })))
    }
}
