use std::time::Duration;

use tokio::time::Instant;

use super::{Exit, ProcessGroup};
use crate::acp::error::AcpBuildError;

/// How long each rung of the end waits before the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EndGraces {
    /// From the end of its stdin to SIGTERM.
    pub(crate) stdin_end: Duration,
    /// From SIGTERM to SIGKILL.
    pub(crate) terminate: Duration,
}

/// After SIGKILL only the kernel can hold a process back.
const KILL: Duration = Duration::from_secs(5);

impl Default for EndGraces {
    fn default() -> Self {
        Self { stdin_end: Duration::from_secs(6), terminate: Duration::from_secs(3) }
    }
}

impl EndGraces {
    /// The longest grace that makes sense; also within what timers can hold.
    pub(crate) const LONGEST: Duration = Duration::from_hours(24);

    pub(crate) fn check(self) -> Result<Self, AcpBuildError> {
        for (what, given) in
            [("the grace after stdin ends", self.stdin_end), ("the grace after SIGTERM", self.terminate)]
        {
            if given > Self::LONGEST {
                return Err(AcpBuildError::TimeOutOfRange { what, given, longest: Self::LONGEST });
            }
        }
        Ok(self)
    }
}

/// Processes that not even SIGKILL ended.
#[derive(Debug, Clone)]
pub(crate) struct Survivors(pub(crate) Vec<i32>);

/// Waits for the group to end by itself, then asks, then forces it; its stdin was closed before.
pub(super) async fn end(group: &ProcessGroup, graces: EndGraces) -> Result<Exit, Survivors> {
    if !gone_within(group, graces.stdin_end).await {
        group.terminate();
        if !gone_within(group, graces.terminate).await {
            group.kill();
            if !gone_within(group, KILL).await {
                return Err(Survivors(group.live_members()));
            }
        }
    }
    // A process that died this instant may need a moment to be collected.
    let deadline = Instant::now() + KILL;
    loop {
        let exit = group.reap();
        if group.is_reaped() || Instant::now() >= deadline {
            return Ok(exit);
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// Whether the whole group is gone in time. Its leader's end is heard of; that of the others has to be looked for.
async fn gone_within(group: &ProcessGroup, grace: Duration) -> bool {
    let deadline = Instant::now() + grace;
    let mut pause = Duration::from_millis(2);
    loop {
        if group.live_members().is_empty() {
            return true;
        }
        if Instant::now() >= deadline {
            return false;
        }
        let look_again = deadline.min(Instant::now() + pause);
        if group.exit().is_some() {
            tokio::time::sleep_until(look_again).await;
        } else {
            drop(tokio::time::timeout_at(look_again, group.exited()).await);
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
