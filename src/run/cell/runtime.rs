//! The runtime that a run lives on.

use std::time::Duration;

use tokio::runtime::{EnterGuard, Handle};

use super::RunCell;
use crate::run::timer;

impl RunCell {
    pub(in crate::run) fn enter(&self, runtime: Handle) {
        self.runtime.get_or_init(|| runtime);
    }

    /// Spawns on the run's own runtime; `Subagents::shutdown` waits for it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = self.runtime.get() {
            self.hub.spawn_on(task, runtime);
        }
    }

    /// Returns when the time has passed; at once where there is no timer.
    pub(in crate::run) async fn pass(&self, time: Duration) {
        timer::pass(time, self.runtime.get()).await;
    }

    /// Enters the run's runtime where none is running.
    pub(in crate::run) fn enter_own_runtime(&self) -> Option<EnterGuard<'_>> {
        timer::enter(self.runtime.get())
    }

    /// Whether the run's runtime has shut down or is about to, and takes no task any more.
    pub(in crate::run) fn runtime_is_gone(&self) -> bool {
        self.runtime.get().is_some_and(|runtime| {
            let probe = runtime.spawn(std::future::pending::<()>());
            let refused = probe.is_finished();
            probe.abort();
            refused
        })
    }
}
