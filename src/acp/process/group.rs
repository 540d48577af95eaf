use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::process::Child;

use super::Exit;
#[cfg(unix)]
use super::{members, watchdog::Watchdog};

/// How long a synchronous kill waits to collect what it killed.
const COLLECT: Duration = Duration::from_millis(50);

/// A program and everything it started.
///
/// The program is its group's leader. It is not reaped before the whole group is gone: until then its number
/// cannot be given to another process, so that a signal to the group always means this group.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    state: Mutex<State>,
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
    #[cfg(unix)]
    mark: Mark,
}

#[derive(Debug)]
struct State {
    child: Child,
    exit: Option<Exit>,
    reaped: bool,
    #[cfg(unix)]
    watchdog: Option<Watchdog>,
}

/// A variable that every process below the program inherits, also one that left the group.
#[derive(Debug)]
pub(super) struct Mark(String);

impl Mark {
    pub(super) fn new() -> Self {
        Self(format!("SUBAGENT_CHILD_{}", uuid::Uuid::now_v7().simple()))
    }

    pub(super) fn variable(&self) -> &str {
        &self.0
    }
}

impl ProcessGroup {
    #[cfg(unix)]
    pub(super) fn new(child: Child, mark: Mark) -> Self {
        let leader =
            child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
        let watchdog = leader.and_then(Watchdog::over);
        Self { state: Mutex::new(State { child, exit: None, reaped: false, watchdog }), leader, mark }
    }

    #[cfg(not(unix))]
    pub(super) fn new(child: Child, _mark: Mark) -> Self {
        Self { state: Mutex::new(State { child, exit: None, reaped: false }) }
    }

    /// How the program ended, `None` while it lives.
    pub(crate) fn exit(&self) -> Option<Exit> {
        let mut state = self.state();
        if state.exit.is_none() {
            state.exit = self.look(&mut state.child);
        }
        state.exit
    }

    #[cfg(unix)]
    fn look(&self, _child: &mut Child) -> Option<Exit> {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let leader = self.leader?;
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(leader), options) {
            Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Exit::Status(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Unknown,
            }),
            Ok(None) | Err(rustix::io::Errno::INTR) => None,
            // Somebody else collected it.
            Err(_) => Some(Exit::Unknown),
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "the Unix form needs it")]
    fn look(&self, child: &mut Child) -> Option<Exit> {
        child.try_wait().ok().flatten().map(Exit::from)
    }

    /// Waits for the program itself to end, whoever still holds its pipes.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub(crate) async fn exited(&self) -> Exit {
        let mut notices = ChildNotices::listen();
        loop {
            if let Some(exit) = self.exit() {
                return exit;
            }
            notices.next().await;
        }
    }

    /// The live processes of the group and those below it that left the group; zombies do not count.
    #[cfg(unix)]
    pub(super) fn live_members(&self) -> Vec<i32> {
        if self.state().reaped {
            return Vec::new();
        }
        let Some(leader) = self.leader else { return Vec::new() };
        if let Some(live) = members::live(leader, self.mark.variable()) {
            return live;
        }
        // No process table to read: only a reaped leader makes the test below mean something.
        if self.exit().is_none() {
            return vec![leader.as_raw_pid()];
        }
        drop(self.state().child.try_wait());
        match rustix::process::test_kill_process_group(leader) {
            Ok(()) => vec![leader.as_raw_pid()],
            Err(_) => Vec::new(),
        }
    }

    #[cfg(not(unix))]
    pub(super) fn live_members(&self) -> Vec<i32> {
        if self.exit().is_some() { Vec::new() } else { vec![0] }
    }

    /// Asks the group to end.
    #[cfg(unix)]
    pub(super) fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
    }

    #[cfg(not(unix))]
    pub(super) fn terminate(&self) {}

    /// Ends the group.
    #[cfg(unix)]
    pub(crate) fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
    }

    #[cfg(not(unix))]
    pub(crate) fn kill(&self) {
        if let Err(error) = self.state().child.start_kill() {
            tracing::warn!(%error, "an ACP child cannot be killed");
        }
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        use rustix::process::{kill_process, kill_process_group};
        let Some(leader) = self.leader else { return };
        let state = self.state();
        if state.reaped {
            return;
        }
        match kill_process_group(leader, signal) {
            // macOS says `PERM` of a group of zombies.
            Ok(()) | Err(rustix::io::Errno::SRCH | rustix::io::Errno::PERM) => {}
            Err(error) => tracing::warn!(%error, "an ACP child's group cannot be signalled"),
        }
        for pid in members::outside(leader, self.mark.variable()) {
            match kill_process(pid, signal) {
                Ok(()) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => tracing::warn!(%error, "a process below an ACP child cannot be signalled"),
            }
        }
        drop(state);
    }

    /// Collects the program, once the group is gone.
    pub(super) fn reap(&self) -> Exit {
        let seen = self.exit();
        let mut state = self.state();
        if !state.reaped {
            match state.child.try_wait() {
                Ok(Some(status)) => {
                    state.exit = Some(seen.unwrap_or_else(|| status.into()));
                    state.reaped = true;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "an ACP child cannot be collected"),
            }
        }
        if state.reaped {
            #[cfg(unix)]
            drop(state.watchdog.take());
        }
        state.exit.unwrap_or(Exit::Unknown)
    }

    pub(super) fn is_reaped(&self) -> bool {
        self.state().reaped
    }

    /// Kills the group at once and collects it if it dies at once; needs no runtime.
    pub(crate) fn kill_now(&self) {
        if self.state().reaped {
            return;
        }
        self.kill();
        let deadline = Instant::now() + COLLECT;
        while !self.live_members().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
            // What was started in the meantime.
            self.kill();
        }
        self.reap();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes when some child of this process may have ended.
struct ChildNotices {
    #[cfg(unix)]
    signals: Option<tokio::signal::unix::Signal>,
}

impl ChildNotices {
    /// Where signals cannot be watched, time has to do.
    const PAUSE: Duration = Duration::from_millis(50);

    #[cfg(unix)]
    fn listen() -> Self {
        Self { signals: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::child()).ok() }
    }

    #[cfg(not(unix))]
    fn listen() -> Self {
        Self {}
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signals) = &mut self.signals
            && signals.recv().await.is_some()
        {
            return;
        }
        tokio::time::sleep(Self::PAUSE).await;
    }
}
