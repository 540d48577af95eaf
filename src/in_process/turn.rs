use std::pin::pin;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use crate::agent::{Agent, Inbox, TurnOptions, TurnOutcome};
use crate::content::ContentBlock;
use crate::delegation;
use crate::result::Outcome;
use crate::run::Settlement;
use crate::sync::lock;
use crate::trace;

/// One turn of a child, on a task of its own. Dropped, it ends.
pub(super) struct Turn {
    pub(super) inbox: Inbox,
    /// Ends the turn, whether or not its run is cancelled.
    pub(super) stop: CancellationToken,
    pub(super) task: JoinHandle<()>,
}

impl Turn {
    pub(super) fn begin(
        worker: Worker,
        prompt: Vec<ContentBlock>,
        options: TurnOptions,
        settlement: Settlement,
    ) -> Self {
        let inbox = Inbox::new();
        let stop = settlement.cancellation().token().child_token();
        let progress = settlement.progress();
        let options = options
            .cancellation(stop.clone())
            .inbox(inbox.clone())
            .in_run()
            .on_update(move |update| progress.report(update));
        let stopped = stop.clone();
        let span = settlement.span();
        worker.tell(&span);
        let task = async move {
            let mut worker = worker;
            let outcome = worker.run_turn(prompt, options, stopped).await;
            // Whoever hears of the result can have the agent's next turn.
            drop(worker);
            settlement.settle(outcome);
        };
        let task = tokio::spawn(task.instrument(span));
        Self { inbox, stop, task }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.stop.cancel();
        self.task.abort();
    }
}

/// Where a child's agent is between two turns. Clones are one seat.
#[derive(Clone)]
pub(super) struct Seat(Arc<Shared>);

struct Shared {
    agent: Mutex<Option<Agent>>,
    back: Notify,
}

impl Seat {
    pub(super) fn new(agent: Agent) -> Self {
        Self(Arc::new(Shared { agent: Mutex::new(Some(agent)), back: Notify::new() }))
    }

    /// The agent, to run a turn: once the turn before is over.
    pub(super) async fn take(&self) -> Worker {
        loop {
            let back = self.0.back.notified();
            if let Some(worker) = self.try_take() {
                return worker;
            }
            back.await;
        }
    }

    pub(super) fn try_take(&self) -> Option<Worker> {
        let agent = lock(&self.0.agent).take()?;
        Some(Worker { agent: Some(agent), seat: self.clone() })
    }
}

/// An agent at work; dropped, it goes back to its seat.
pub(super) struct Worker {
    agent: Option<Agent>,
    seat: Seat,
}

impl Worker {
    /// Says in a run's span who works there.
    fn tell(&self, span: &Span) {
        if let Some(agent) = &self.agent {
            trace::child(span, agent);
        }
    }

    async fn run_turn(
        &mut self,
        prompt: Vec<ContentBlock>,
        options: TurnOptions,
        stopped: CancellationToken,
    ) -> Outcome {
        // Not reached: the agent leaves when the worker is dropped.
        let Some(agent) = &mut self.agent else { return Outcome::error("the agent is gone") };
        let delegations = Arc::clone(agent.delegations().shared());
        let mut turn = pin!(agent.run_turn(prompt, options));
        let turn = tokio::select! {
            biased;
            turn = &mut turn => turn,
            () = stopped.cancelled() => {
                // A run takes its whole tree along, also what works in the background.
                delegation::cancel_all(&delegations, "its parent was cancelled");
                turn.await
            }
        };
        let mut outcome = outcome(turn);
        delegation::end_with_run(&delegations, stopped.is_cancelled(), &mut outcome.diagnostic).await;
        outcome
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let agent = self.agent.take();
        let none = std::mem::replace(&mut *lock(&self.seat.0.agent), agent);
        drop(none);
        self.seat.0.back.notify_waiters();
    }
}

fn outcome(turn: TurnOutcome) -> Outcome {
    let mut outcome = Outcome::new(turn.stop_reason)
        .with_output(turn.output)
        .with_usage(turn.usage)
        .with_undelivered(turn.undelivered);
    outcome.structured = turn.structured;
    outcome.diagnostic = turn.diagnostic;
    outcome
}
