use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;

use super::cell::Verdict;
use super::{Cancellation, Inbox, InboxSender, Progress, RunCell, inbox};
use crate::content::Output;
use crate::error::{RunFault, StartError};
use crate::id::RunId;
use crate::result::Outcome;

/// The one-shot token with which a provider ends a run. It is owned, so a run settles exactly once.
///
/// Dropping it without settling is a fault of the provider, [`RunFault::SettlementLost`]; dropping it in a panic
/// means that the child panicked, which is a result with [`StopReason::Error`](crate::StopReason::Error); dropping
/// it after a cancellation settles the run as cancelled.
#[must_use = "dropping a `Settlement` without settling is a fault of the provider; call `settle`"]
pub struct Settlement {
    cell: Arc<RunCell>,
    target: Option<Target>,
}

enum Target {
    Run,
    Mapped(Box<dyn FnOnce(Outcome) -> Outcome + Send>, Box<Self>),
    Wrapper(oneshot::Sender<Verdict>),
}

impl Settlement {
    pub(crate) fn new(cell: Arc<RunCell>) -> Self {
        Self { cell, target: Some(Target::Run) }
    }

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

    /// For wrappers: a settlement for the provider inside whose outcome passes through `change` first. A lost
    /// settlement and a panic pass by as they are.
    pub fn map(mut self, change: impl FnOnce(Outcome) -> Outcome + Send + 'static) -> Self {
        let target = self.target.take().map(|target| Target::Mapped(Box::new(change), Box::new(target)));
        Self { cell: Arc::clone(&self.cell), target }
    }

    /// For wrappers: a settlement for the provider inside, and its outcome for the wrapper, which keeps the run's
    /// own settlement and decides.
    pub fn intercept(&self) -> (Self, Intercepted) {
        let (sender, receiver) = oneshot::channel();
        let run_id = self.run_id();
        let inner = Self { cell: Arc::clone(&self.cell), target: Some(Target::Wrapper(sender)) };
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

impl Target {
    fn reach(self, cell: &Arc<RunCell>, verdict: Verdict) {
        match self {
            Self::Run => cell.settle(verdict),
            Self::Mapped(change, next) => {
                let changed = verdict.map(|outcome| {
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
                wrapper.send(verdict).ok();
            }
        }
    }
}

impl Drop for Settlement {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.end(Ok(Outcome::error("the child panicked")));
        } else {
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
