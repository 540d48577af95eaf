use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::session::Session;
use crate::content::ContentBlock;
use crate::result::Outcome;
use crate::run::Settlement;
use crate::update::Update;
use crate::usage::Usage;

/// The task that drives one turn and settles its run. Dropping it aborts the task.
#[derive(Debug)]
pub(super) struct TurnTask {
    task: JoinHandle<()>,
    stop: CancellationToken,
    over: CancellationToken,
}

impl TurnTask {
    pub(super) fn begin(session: Arc<Session>, content: Vec<ContentBlock>, settlement: Settlement) -> Self {
        let stop = settlement.cancellation().token().child_token();
        let over = CancellationToken::new();
        let (cancel, ended) = (stop.clone(), over.clone().drop_guard());
        let task = tokio::spawn(async move {
            drive(&session, &content, &cancel, settlement).await;
            drop(ended);
        });
        Self { task, stop, over }
    }

    /// Cancels the turn.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    /// Cancelled when the task has ended.
    pub(super) fn over(&self) -> CancellationToken {
        self.over.clone()
    }

    /// Waits for the task to end.
    pub(super) async fn join(mut self) {
        if let Err(error) = (&mut self.task).await
            && error.is_panic()
        {
            tracing::warn!("the turn of an ACP child panicked");
        }
    }
}

impl Drop for TurnTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn drive(
    session: &Session,
    content: &[ContentBlock],
    cancel: &CancellationToken,
    settlement: Settlement,
) {
    let progress = settlement.progress();
    let mut usage = Usage::default();
    let ended = session
        .run_turn(content, cancel, |update| {
            if let Update::Usage(call) = &update {
                usage.add(call);
            }
            progress.report(update);
            std::future::ready(())
        })
        .await;
    let mut outcome = Outcome::new(ended.stop).with_usage(usage);
    outcome.diagnostic = ended.diagnostic;
    settlement.settle(outcome);
}
