use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::mcp::{Judged, Served};
use super::session::Session;
use crate::content::ContentBlock;
use crate::result::Outcome;
use crate::run::Settlement;
use crate::trace;
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
    pub(super) fn begin(
        session: Arc<Session>,
        served: Option<Arc<Served>>,
        content: Vec<ContentBlock>,
        settlement: Settlement,
    ) -> Self {
        let stop = settlement.cancellation().token().child_token();
        let over = CancellationToken::new();
        let (cancel, ended) = (stop.clone(), over.clone().drop_guard());
        let span = settlement.span();
        trace::conversation(&span, session.id());
        let turn = async move {
            drive(&session, served.as_deref(), content, &cancel, settlement).await;
            drop(ended);
        };
        Self { task: tokio::spawn(turn.instrument(span)), stop, over }
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
    served: Option<&Served>,
    mut content: Vec<ContentBlock>,
    cancel: &CancellationToken,
    settlement: Settlement,
) {
    let progress = settlement.progress();
    let mut usage = Usage::default();
    // A child that delivers nothing that fits is cut off, without being cancelled by anybody.
    let cut = cancel.child_token();
    content.extend(served.and_then(|served| served.begin_turn(cut.clone())));
    let (stop, mut diagnostic, structured) = loop {
        let ended = session
            .run_turn(&content, &cut, |update| {
                if let Update::Usage(call) = &update {
                    usage.add(call);
                }
                progress.report(update);
                std::future::ready(())
            })
            .await;
        let Some(served) = served else { break (ended.stop, ended.diagnostic, None) };
        match served.judge(ended.stop, ended.diagnostic, cancel.is_cancelled()) {
            Judged::Again(told) => {
                progress.report(Update::MessageEnd);
                content = vec![told.into()];
            }
            Judged::Settled { stop, diagnostic, structured } => break (stop, diagnostic, structured),
        }
    };
    if let Some(served) = served {
        served.end_turn(cancel.is_cancelled(), &mut diagnostic).await;
        usage.merge(&served.usage());
    }
    let mut outcome = Outcome::new(stop).with_usage(usage);
    outcome.diagnostic = diagnostic;
    outcome.structured = structured;
    settlement.settle(outcome);
}
