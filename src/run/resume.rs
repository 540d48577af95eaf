use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::start::{AbandonOnDrop, first_uncarried, watch, within_grace};
use super::{CancelCause, FollowUp, Live, Present, Resumable, Run, RunCell, Settled, timer};
use crate::agent::is_empty_message;
use crate::error::{Refused, ResumeError, message};
use crate::id::RunId;
use crate::trace;

/// A run that is being resumed: a future of the new [`Live`] handle.
///
/// # Cancel safety
///
/// Dropped before its first poll or half way, the follow-up is cancelled and the child disposed of in the
/// background.
#[must_use = "futures do nothing unless awaited; dropped, the child is disposed of"]
pub struct Resume<R: Run, O: 'static> {
    resuming: Option<Resuming<R, O>>,
    cell: Arc<RunCell>,
    polled: bool,
}

type Resuming<R, O> = BoxFuture<'static, Result<Live<R, O>, Refused<ResumeError, Settled<R, O>>>>;

impl<R: Run, O: 'static> Resume<R, O> {
    /// The new run's id, known before the child works on it.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        self.cell.identity.run_id
    }
}

pub(super) fn resume<R: Resumable, O: 'static>(settled: Settled<R, O>, follow_up: FollowUp) -> Resume<R, O> {
    let cell = settled.cell().follow_up(follow_up.run_id.unwrap_or_else(RunId::new));
    let resumed = Arc::clone(&cell);
    let resume = Box::pin(async move {
        match begin(&settled, &resumed, follow_up).await {
            Ok(()) => Ok(Live::new(settled.into_parts().0, resumed)),
            Err(error) => Err(Refused { error, value: settled }),
        }
    });
    Resume { resuming: Some(resume), cell, polled: false }
}

async fn begin<R: Resumable, O>(
    settled: &Settled<R, O>,
    cell: &Arc<RunCell>,
    follow_up: FollowUp,
) -> Result<(), ResumeError> {
    let content = follow_up.prompt.0;
    if is_empty_message(&content) {
        return Err(ResumeError::EmptyMessage);
    }
    if let Some((index, kind)) = first_uncarried(&content, cell.content) {
        return Err(ResumeError::UnsupportedContent { kind, index, carried: cell.content });
    }
    let run_id = cell.identity.run_id;
    if follow_up.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled) {
        return Err(ResumeError::Cancelled { run_id, cause: CancelCause::Token });
    }
    let runtime = Handle::try_current().map_err(|_| ResumeError::NoRuntime)?;
    if follow_up.time_limit.is_some() && !timer::is_there() {
        return Err(ResumeError::NoTimer);
    }
    cell.enter(runtime);
    cell.hub.add_run(cell)?;
    let _unpublished = AbandonOnDrop::new(cell);
    if let Some(token) = follow_up.cancellation {
        watch(cell, token);
    }
    if let Some(limit) = follow_up.time_limit {
        cell.limit_time(limit);
    }
    cell.hub.take_slot(cell).await.map_err(|cause| ResumeError::Cancelled { run_id, cause })?;
    let run = settled.run();
    let settlement = cell.settlement();
    // The hook, as by name: a wrapper's run does its work there.
    let resume = async { run.resume_with(content, settlement, Present).await };
    let given_up = || ResumeError::failed("the resumption went on after it was cancelled");
    let span = cell.begin_span();
    let resumed = within_grace(cell, pin!(Some(resume))).instrument(span.clone()).await;
    let resumed = resumed.map(|resumed| resumed.unwrap_or_else(|| Err(given_up())));
    let refused = match (resumed, cell.cancel_cause()) {
        (Ok(Ok(())), _) => {
            let Err(cause) = cell.publish() else { return Ok(()) };
            // The child took the follow-up all the same: it stops before the run is as settled as it was.
            cell.parked().await;
            ResumeError::Cancelled { run_id, cause }
        }
        (_, Some(cause)) => ResumeError::Cancelled { run_id, cause },
        (Ok(Err(error)), None) => error,
        (Err(payload), None) => ResumeError::Panicked { message: message(payload) },
    };
    trace::not_started(&span, refused.code(), &refused);
    Err(refused)
}

impl<R: Run, O: 'static> Future for Resume<R, O> {
    type Output = Result<Live<R, O>, Refused<ResumeError, Settled<R, O>>>;

    #[expect(clippy::panic, reason = "polling a future after it is ready is a bug of its caller")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.polled = true;
        let Some(resume) = &mut self.resuming else { panic!("`Resume` was polled after it was ready") };
        let polled = resume.as_mut().poll(context);
        if polled.is_ready() {
            self.resuming = None;
        }
        polled
    }
}

impl<R: Run, O: 'static> Drop for Resume<R, O> {
    fn drop(&mut self) {
        // Not polled, the settled run inside is dropped, and disposed of as any dropped handle's.
        let Some(resume) = self.resuming.take().filter(|_| self.polled) else { return };
        self.cell.cancel(CancelCause::Dropped);
        // Cancelled, it ends within the grace; whatever comes of it is dropped, and so disposed of.
        self.cell.spawn(async move { drop(resume.await) });
    }
}

impl<R: Run, O: 'static> fmt::Debug for Resume<R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resume").field("run_id", &self.run_id()).finish_non_exhaustive()
    }
}
