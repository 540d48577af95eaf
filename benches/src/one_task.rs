//! The child of the first rows: one Tokio task that says one word. And what is done with it, with the seam and without.

use subagent::{DisposeError, Outcome, Provider, ProviderHandle, Request, Run, Settlement, StartError};
use subagent::{StartRequest, Subagents};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// Starts a task that completes at once.
pub struct OneTask;
subagent::supports!(OneTask:);

/// The task.
pub struct OneTaskRun(Option<JoinHandle<()>>);

impl Provider for OneTask {
    type Run = OneTaskRun;

    async fn start(&self, _request: StartRequest, settlement: Settlement) -> Result<OneTaskRun, StartError> {
        Ok(OneTaskRun(Some(tokio::spawn(async move { settlement.complete("ok") }))))
    }
}

impl Run for OneTaskRun {
    subagent::not_steerable!();
    subagent::not_resumable!();

    async fn dispose(mut self) -> Result<(), DisposeError> {
        if let Some(task) = self.0.take() {
            task.await.ok();
        }
        Ok(())
    }
}

impl Drop for OneTaskRun {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// The floor: the same outcome out of the same task, through a channel, and the task joined.
pub async fn base() {
    let (sender, receiver) = oneshot::channel();
    let task = tokio::spawn(async move { drop(sender.send(Outcome::completed("ok"))) });
    assert!(receiver.await.is_ok_and(|outcome| outcome.stop_reason.is_completed()));
    task.await.expect("the task ends");
}

/// Request, start, result, disposal, by the provider's type.
pub async fn typed(handle: &ProviderHandle<OneTask>) {
    let run = handle.start(Request::new("x")).await.expect("it starts");
    let collected = run.collect().await;
    assert!(collected.result.is_ok_and(|result| result.is_completed()) && collected.disposal.is_ok());
}

/// Request, start, result, disposal, by the provider's name.
pub async fn named(subagents: &Subagents) {
    let run = subagents.start("one-task", Request::new("x")).await.expect("it starts");
    let collected = run.collect().await;
    assert!(collected.result.is_ok_and(|result| result.is_completed()) && collected.disposal.is_ok());
}

/// A registry that holds [`OneTask`].
pub fn registered() -> (Subagents, ProviderHandle<OneTask>) {
    let subagents = Subagents::new();
    let handle = subagents.register("one-task", OneTask).expect("the name is free").leave_registered();
    (subagents, handle)
}
