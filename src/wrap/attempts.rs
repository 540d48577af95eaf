//! One child after the other in one run: what [`Retry`](super::Retry) and [`Fallback`](super::Fallback) share.

mod driver;
mod run;
mod spent;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use driver::Driver;
pub use run::AttemptRun;

use crate::error::{StartError, chain};
use crate::request::StartRequest;
use crate::result::Outcome;
use crate::run::{Run, Settlement};

/// Which children there are, and when the next one's turn comes.
pub(super) trait Plan: Send + Sync + 'static {
    type Run: Run;

    /// Starts the child of this attempt; the first is 1.
    fn start(
        &self,
        attempt: u32,
        request: StartRequest,
        settlement: Settlement,
    ) -> impl Future<Output = Result<Self::Run, StartError>> + Send;

    /// How many children there are at most.
    fn attempts(&self) -> u32;

    /// How long to wait before the next child.
    fn pause(&self) -> Duration;

    fn again_after_error(&self, error: &StartError) -> bool;

    fn again_after(&self, outcome: &Outcome) -> bool;
}

/// Whether another child's turn comes after an outcome.
pub(super) type Question = Arc<dyn Fn(&Outcome) -> bool + Send + Sync>;

/// Starts the first child that starts, and sees to what comes after it.
pub(super) async fn start<P: Plan>(
    plan: Arc<P>,
    request: StartRequest,
    settlement: Settlement,
) -> Result<AttemptRun<P::Run>, StartError> {
    let cancellation = settlement.cancellation();
    let mut attempt = 1;
    let (run, intercepted) = loop {
        let (inner, intercepted) = settlement.intercept();
        let error = match plan.start(attempt, request.attempt(), inner).await {
            Ok(run) => break (run, intercepted),
            Err(error) => error,
        };
        if attempt >= plan.attempts() || !plan.again_after_error(&error) {
            return Err(error);
        }
        tokio::select! {
            biased;
            () = cancellation.cancelled() => return Err(error),
            () = tokio::time::sleep(plan.pause()) => {}
        }
        tracing::warn!(run_id = %request.run_id(), attempt, error = chain(&error), "a child did not start; the next one is tried");
        attempt += 1;
    };
    let current = Arc::new(RwLock::new(Some(run)));
    let stop = CancellationToken::new();
    let driver = Driver {
        plan,
        request,
        settlement: settlement.held_by_task(),
        current: Arc::clone(&current),
        stop: stop.clone(),
        attempt,
        intercepted,
    };
    Ok(AttemptRun::new(current, tokio::spawn(driver.drive().in_current_span()), stop))
}
