use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio_util::task::TaskTracker;

use super::listeners::Listeners;
use super::slots::{Slot, Slots};
use crate::error::{ResumeError, StartError, contain};
use crate::event::{Event, RunEnded, RunInfo, RunStarted};
use crate::id::RunId;
use crate::run::{CancelCause, RunCell, Verdict};
use crate::stop_reason::StopReason;
use crate::sync::lock;

/// What all runs of one `Subagents` share: who listens, which runs there are, and the tasks that clean up.
pub(crate) struct Hub {
    pub(super) listeners: Listeners,
    runs: Mutex<Runs>,
    tasks: TaskTracker,
    cancel_grace: Duration,
    slots: Option<Slots>,
}

#[derive(Default)]
struct Runs {
    by_id: HashMap<RunId, Listed>,
    closed: bool,
}

struct Listed {
    cell: Arc<RunCell>,
    /// Given up when the run is taken off the list.
    slot: Option<Slot>,
}

impl Hub {
    pub(super) fn new(cancel_grace: Duration, most_at_once: Option<NonZeroUsize>) -> Self {
        Self {
            listeners: Listeners::default(),
            runs: Mutex::default(),
            tasks: TaskTracker::new(),
            cancel_grace,
            slots: most_at_once.map(Slots::new),
        }
    }

    pub(crate) fn cancel_grace(&self) -> Duration {
        self.cancel_grace
    }

    /// Lists a run that is starting; refuses an id that is taken.
    pub(crate) fn add_run(&self, cell: &Arc<RunCell>) -> Result<(), RunRefused> {
        let run_id = cell.identity.run_id;
        let mut runs = lock(&self.runs);
        if runs.closed {
            return Err(RunRefused::ShutDown);
        }
        if runs.by_id.contains_key(&run_id) {
            return Err(RunRefused::Duplicate(run_id));
        }
        runs.by_id.insert(run_id, Listed { cell: Arc::clone(cell), slot: None });
        Ok(())
    }

    /// Waits until a listed run may go on.
    ///
    /// # Errors
    ///
    /// Why it may not, when it is cancelled in the meantime.
    pub(crate) async fn take_slot(&self, cell: &RunCell) -> Result<(), CancelCause> {
        let Some(slots) = &self.slots else { return Ok(()) };
        let slot = tokio::select! {
            biased;
            cause = cell.cancelled() => return Err(cause),
            slot = slots.take(cell.identity.depth) => slot,
        };
        if let Some(listed) = lock(&self.runs).by_id.get_mut(&cell.identity.run_id) {
            listed.slot = slot;
        }
        Ok(())
    }

    pub(crate) fn remove_run(&self, id: RunId) {
        let removed = lock(&self.runs).by_id.remove(&id);
        drop(removed);
    }

    pub(crate) fn run(&self, id: RunId) -> Option<Arc<RunCell>> {
        lock(&self.runs).by_id.get(&id).map(|listed| Arc::clone(&listed.cell))
    }

    pub(crate) fn runs(&self) -> Vec<Arc<RunCell>> {
        lock(&self.runs).by_id.values().map(|listed| Arc::clone(&listed.cell)).collect()
    }

    pub(super) fn is_closed(&self) -> bool {
        lock(&self.runs).closed
    }

    pub(crate) fn spawn_on(&self, task: impl Future<Output = ()> + Send + 'static, runtime: &Handle) {
        self.tasks.spawn_on(task, runtime);
    }

    /// Refuses new runs, cancels the live ones, and waits for them and for everything that cleans up.
    pub(super) async fn shut_down(&self) {
        lock(&self.runs).closed = true;
        let runs = self.runs();
        for cell in &runs {
            cell.cancel(CancelCause::Shutdown);
        }
        for cell in &runs {
            cell.gone_or_forsaken().await;
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    // ---- events

    pub(crate) fn run_started(&self, run: &RunInfo) {
        self.listeners.tell(|| Event::Started(RunStarted { run: run.clone() }));
    }

    pub(crate) fn run_ended(&self, run: &RunInfo, verdict: &Verdict) {
        self.listeners.tell(|| Event::Ended(ended(run, verdict)));
    }
}

fn ended(run: &RunInfo, verdict: &Verdict) -> RunEnded {
    let Ok(outcome) = verdict else {
        return RunEnded {
            run: run.clone(),
            stop_reason: StopReason::Error,
            output: None,
            diagnostic: None,
            usage: crate::usage::Usage::default(),
        };
    };
    let output = if outcome.output.is_empty() {
        None
    } else {
        // A provider-defined block is foreign code.
        let frozen =
            contain(|| outcome.output.freeze().map_err(|error| error.to_string())).and_then(|frozen| frozen);
        frozen
            .inspect_err(|reason| {
                tracing::warn!(run_id = %run.run_id, reason, "a run's output could not be read; its event goes without");
            })
            .ok()
    };
    RunEnded {
        run: run.clone(),
        stop_reason: outcome.stop_reason.clone(),
        output,
        diagnostic: outcome.diagnostic.clone(),
        usage: outcome.usage.clone(),
    }
}

/// Why a run is not listed.
pub(crate) enum RunRefused {
    ShutDown,
    Duplicate(RunId),
}

impl From<RunRefused> for StartError {
    fn from(refused: RunRefused) -> Self {
        match refused {
            RunRefused::ShutDown => Self::ShutDown,
            RunRefused::Duplicate(run_id) => Self::DuplicateRun { run_id },
        }
    }
}

impl From<RunRefused> for ResumeError {
    fn from(refused: RunRefused) -> Self {
        match refused {
            RunRefused::ShutDown => Self::ShutDown,
            RunRefused::Duplicate(run_id) => Self::DuplicateRun { run_id },
        }
    }
}
