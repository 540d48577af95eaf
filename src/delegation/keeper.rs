use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::child::Child;
use super::report::Ending;
use crate::agent::UsageLedger;
use crate::capability::NoOutput;
use crate::erased::AnyRun;
use crate::error::chain;
use crate::result::Outcome;
use crate::run::{Live, Present, Run, Settled};
use crate::stop_reason::StopReason;
use crate::usage::Usage;

/// A message to a child, and who waits for the answer.
pub(super) struct Message {
    pub(super) text: String,
    pub(super) answer: oneshot::Sender<Result<(), String>>,
}

pub(super) type Begin = BoxFuture<'static, Result<Live<AnyRun, NoOutput>, NotBegun>>;

/// A run that did not come to be.
pub(super) struct NotBegun {
    pub(super) why: String,
    pub(super) cancelled: bool,
    /// The child that was to be resumed.
    pub(super) settled: Option<Settled<AnyRun, NoOutput>>,
}

/// How a message reaches a run.
type SendTo<R> = for<'a> fn(&'a Live<R, NoOutput>, String) -> BoxFuture<'a, Result<(), String>>;

/// Owns one run of a background child: starts it, passes messages on, ends it when it is asked to, and disposes of it.
/// Its task belongs to the `Subagents`, whose shutdown cancels the run and waits for the task.
pub(super) struct Keeper {
    pub(super) child: Arc<Child>,
    pub(super) messages: UnboundedReceiver<Message>,
    /// Ends a start that is under way.
    pub(super) start: CancellationToken,
    /// Whether the settled child is kept for follow-ups.
    pub(super) keeps: bool,
    /// The child that a follow-up goes back to where it does not begin.
    pub(super) before: Option<Arc<Child>>,
    _over: Over,
}

impl Keeper {
    pub(super) fn new(
        child: &Arc<Child>,
        messages: UnboundedReceiver<Message>,
        start: CancellationToken,
        keeps: bool,
        before: Option<Arc<Child>>,
    ) -> Self {
        Self { child: Arc::clone(child), messages, start, keeps, before, _over: Over(Arc::clone(child)) }
    }

    pub(super) async fn keep(self, mut starting: Begin) {
        let stop = &self.child.stop;
        let begun = tokio::select! {
            biased;
            begun = &mut starting => begun,
            () = stop.token.cancelled() => {
                self.start.cancel();
                starting.await
            }
        };
        match begun {
            Ok(live) => self.attend(live).await,
            Err(not_begun) => self.not_begun(not_begun).await,
        }
    }

    async fn not_begun(self, not_begun: NotBegun) {
        let stopped = self.child.stop.is_asked();
        let outcome = if stopped && not_begun.cancelled {
            let reason = self.child.stop.reason();
            Outcome::new(StopReason::Aborted)
                .with_diagnostic(format!("it was stopped before it began: {reason}"))
        } else if stopped {
            let reason = self.child.stop.reason();
            Outcome::error(format!("it was to be stopped ({reason}) and failed to begin: {}", not_begun.why))
        } else {
            Outcome::error(format!("it could not begin: {}", not_begun.why))
        };
        let back = match (not_begun.settled, &self.before) {
            (Some(settled), Some(before)) => before.keep(settled),
            (settled, _) => settled,
        };
        if let Some(settled) = back {
            dispose(settled).await;
        }
        self.child.end(Ending { whom: self.child.whom.clone(), verdict: Ok(outcome), cleanup: None });
    }

    async fn attend(mut self, live: Live<AnyRun, NoOutput>) {
        self.child.is_live(live.control());
        let live = match live.into_steerable() {
            Ok(live) => {
                self.until_settled(&live, send).await;
                live.erase()
            }
            Err(live) => {
                self.until_settled(&live, cannot_send).await;
                live
            }
        };
        let settled = live.settle().await;
        let verdict = settled.result().map(|result| result.clone().into_outcome());
        if let Ok(outcome) = &verdict {
            count(&self.child.ledger, &self.child.counted, &outcome.usage);
        }
        let ending = Ending { whom: self.child.whom.clone(), verdict, cleanup: None };
        let stopped = self.child.stop.is_asked();
        if self.keeps && !stopped && settled.run().can_resume() {
            let left = self.child.keep(settled);
            let surplus = self.child.owner().map(|owner| owner.surplus_kept()).unwrap_or_default();
            self.child.end(ending);
            for settled in left.into_iter().chain(surplus) {
                dispose(settled).await;
            }
        } else if stopped {
            // Who stopped it hears of both: how it ended, and whether it is wholly gone.
            let cleanup = dispose(settled).await;
            self.child.end(Ending { cleanup, ..ending });
        } else {
            self.child.end(ending);
            dispose(settled).await;
        }
    }

    async fn until_settled<R: Run>(&mut self, live: &Live<R, NoOutput>, send: SendTo<R>) {
        let control = live.control();
        let mut stopping = false;
        loop {
            tokio::select! {
                biased;
                () = control.settled() => return,
                () = self.child.stop.token.cancelled(), if !stopping => {
                    live.cancel(self.child.stop.reason());
                    stopping = true;
                }
                Some(message) = self.messages.recv() => {
                    let answer = tokio::select! {
                        biased;
                        answer = send(live, message.text) => answer,
                        () = control.settled() => Err("it has settled and takes no more messages".to_owned()),
                    };
                    // Where nobody waits for the answer any more, nothing is lost.
                    message.answer.send(answer).ok();
                }
            }
        }
    }
}

/// At the task's end, however it comes, nobody waits for the child any more.
struct Over(Arc<Child>);

impl Drop for Over {
    fn drop(&mut self) {
        if self.0.is_running() {
            let outcome =
                Outcome::new(StopReason::Aborted).with_diagnostic("its task was ended from outside");
            self.0.end(Ending { whom: self.0.whom.clone(), verdict: Ok(outcome), cleanup: None });
        }
        self.0.gone.cancel();
    }
}

fn send(live: &Live<AnyRun<Present>, NoOutput>, text: String) -> BoxFuture<'_, Result<(), String>> {
    async move { live.send_message(text).await.map_err(|error| chain(&error)) }.boxed()
}

fn cannot_send(_live: &Live<AnyRun, NoOutput>, _text: String) -> BoxFuture<'_, Result<(), String>> {
    futures::future::ready(Err(
        "it works for a provider whose agents take no messages while they work".to_owned()
    ))
    .boxed()
}

/// Ends the child, and says what went wrong with that.
async fn dispose(settled: Settled<AnyRun, NoOutput>) -> Option<String> {
    let id = settled.id();
    let error = settled.dispose().await.err()?;
    tracing::error!(run_id = %id, error = &error as &dyn std::error::Error, "a child was not disposed of");
    Some(chain(&error))
}

/// Counts what a child used, where it was not counted as it arose.
pub(super) fn count(ledger: &UsageLedger, before: &Usage, usage: &Usage) {
    if ledger.usage() == *before {
        for call in usage.total() {
            ledger.add_descendant(&call);
        }
    }
}
