use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use tokio::task::JoinHandle;
use tracing::Instrument;

use crate::error::message;
use crate::result::Outcome;
use crate::run::Settlement;

/// Runs the child in a task that settles its run, however it ends.
pub(super) fn spawn<A: Into<Outcome>>(
    child: impl Future<Output = A> + Send + 'static,
    settlement: Settlement,
) -> JoinHandle<()> {
    let settlement = settlement.held_by_task();
    let child = async move { child.await.into() };
    let task = async move {
        let outcome = AssertUnwindSafe(child).catch_unwind().await.unwrap_or_else(|payload| {
            tracing::error!(panic = message(payload), "a child that is a closure panicked");
            Outcome::error("the child panicked")
        });
        settlement.settle(outcome);
    };
    tokio::spawn(task.in_current_span())
}
