//! Time that passes for a run, also where there is no timer to tell it.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use tokio::runtime::Handle;

use crate::error::contain;

/// Returns when the time has passed; at once where the runtime has no timer or is shutting down. `own` serves where
/// no runtime is running.
pub(super) async fn pass(time: Duration, own: Option<&Handle>) {
    // Tokio panics where it has no timer.
    let sleep = AssertUnwindSafe(async {
        let sleep = {
            let _entered = enter(own);
            tokio::time::sleep(time)
        };
        sleep.await;
    });
    sleep.catch_unwind().await.ok();
}

/// Whether the runtime that is running has a timer.
pub(crate) fn is_there() -> bool {
    contain(|| drop(tokio::time::sleep(Duration::ZERO))).is_ok()
}

/// Enters `own` where no runtime is running.
pub(super) fn enter(own: Option<&Handle>) -> Option<tokio::runtime::EnterGuard<'_>> {
    if Handle::try_current().is_ok() { None } else { own.map(Handle::enter) }
}
