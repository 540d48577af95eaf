use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake, Waker};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::dispose::dispose_in_background;
use super::{CancelCause, Live, Run, RunCell, timer};
use crate::content::{ContentBlock, ContentKind, ContentKinds};
use crate::error::{StartError, contain, message};
use crate::id::RunId;
use crate::provider::Provider;
use crate::registry::Entry;
use crate::request::{RequestBody, StartRequest};
use crate::trace;

/// A run that is starting: a future of its [`Live`] handle.
///
/// # Cancel safety
///
/// Dropped before its first poll, nothing happens. Dropped half way, the run is cancelled: the start is driven on in
/// the background for the cancellation grace, so that the provider can undo what it began, and then dropped. No
/// child remains and no event is sent.
#[must_use = "futures do nothing unless awaited: no child is started"]
pub struct Start<R: Run, O> {
    state: State<R>,
    output_type: PhantomData<fn() -> O>,
}

enum State<R> {
    Refused(Option<StartError>),
    Starting { start: Option<BoxFuture<'static, Result<R, StartError>>>, cell: Arc<RunCell>, polled: bool },
}

impl<R: Run, O> Start<R, O> {
    pub(crate) fn new(start: BoxFuture<'static, Result<R, StartError>>, cell: Arc<RunCell>) -> Self {
        Self { state: State::Starting { start: Some(start), cell, polled: false }, output_type: PhantomData }
    }

    pub(crate) fn refused(error: StartError) -> Self {
        Self { state: State::Refused(Some(error)), output_type: PhantomData }
    }

    /// The run's id, known before the child exists; `None` when the start is refused already.
    #[must_use]
    pub fn run_id(&self) -> Option<RunId> {
        match &self.state {
            State::Refused(_) => None,
            State::Starting { cell, .. } => Some(cell.identity.run_id),
        }
    }
}

impl<R: Run, O> Future for Start<R, O> {
    type Output = Result<Live<R, O>, StartError>;

    #[expect(clippy::panic, reason = "polling a future after it is ready is a bug of its caller")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.state {
            State::Refused(error) => match error.take() {
                Some(error) => Poll::Ready(Err(error)),
                None => panic!("`Start` was polled after it was ready"),
            },
            State::Starting { start, cell, polled } => {
                *polled = true;
                let Some(future) = start else { panic!("`Start` was polled after it was ready") };
                let Poll::Ready(started) = future.as_mut().poll(context) else { return Poll::Pending };
                *start = None;
                Poll::Ready(started.map(|run| Live::new(run, Arc::clone(cell))))
            }
        }
    }
}

impl<R: Run, O> Drop for Start<R, O> {
    fn drop(&mut self) {
        let State::Starting { start, cell, polled: true } = &mut self.state else { return };
        let Some(start) = start.take() else { return };
        cell.cancel(CancelCause::Dropped);
        // Cancelled, the start ends within the grace, and disposes of a child that came too late.
        cell.spawn(async move { drop(start.await) });
    }
}

impl<R: Run, O> fmt::Debug for Start<R, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Start").field("run_id", &self.run_id()).finish_non_exhaustive()
    }
}

/// Starts a run: checks, the provider's own start, publication.
pub(crate) async fn start_run<P: Provider>(
    entry: Arc<Entry<P>>,
    cell: Arc<RunCell>,
    mut body: RequestBody,
) -> Result<P::Run, StartError> {
    entry.check(&body)?;
    let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
    cell.enter(runtime);
    let run_id = cell.identity.run_id;
    let tokens =
        [body.cancellation.take(), body.parent.as_ref().and_then(|parent| parent.cancellation().cloned())];
    if tokens.iter().flatten().any(CancellationToken::is_cancelled) {
        return Err(StartError::Cancelled { run_id, cause: CancelCause::Token });
    }
    if body.time_limit.is_some() && !timer::is_there() {
        return Err(StartError::NoTimer);
    }
    cell.hub.add_run(&cell)?;
    // Wakes whoever waits on a run that never came to be, at whichever line this future ends or is dropped.
    let unpublished = AbandonOnDrop(Arc::clone(&cell));
    for token in tokens.into_iter().flatten() {
        watch(&cell, token);
    }
    if let Some(limit) = body.time_limit {
        cell.limit_time(limit);
    }
    cell.hub.take_slot(&cell).await.map_err(|cause| StartError::Cancelled { run_id, cause })?;
    let request = cell.start_request(body);
    let span = cell.begin_span();
    let started = provider_start(&entry, &cell, request).instrument(span.clone()).await;
    let run = started.inspect_err(|error| trace::not_started(&span, error.code(), error))?;
    let Err(refused) = publish(&entry, &cell) else { return Ok(run) };
    trace::not_started(&span, refused.code(), &refused);
    // A disposal may rely on the child's having been told.
    cell.cancel(CancelCause::Disposed);
    // In the background: `shutdown` waits for it there, whether or not anyone polls this start on.
    let disposed = dispose_in_background(run, &cell);
    drop(unpublished);
    disposed.await;
    Err(refused)
}

/// Publishes the run, unless it must not come to be after all.
fn publish<P: Provider>(entry: &Entry<P>, cell: &Arc<RunCell>) -> Result<(), StartError> {
    let run_id = cell.identity.run_id;
    if let Some(capability) = cell.first_ignored() {
        return Err(StartError::Ignored { provider: Arc::clone(&entry.name), run_id, capability });
    }
    let _publication = entry.publication(run_id)?;
    cell.publish().map_err(|cause| StartError::Cancelled { run_id, cause })
}

/// Calls the provider; a panic is contained, and a cancelled start has the grace to end by itself.
async fn provider_start<P: Provider>(
    entry: &Arc<Entry<P>>,
    cell: &Arc<RunCell>,
    request: StartRequest,
) -> Result<P::Run, StartError> {
    let run_id = cell.identity.run_id;
    let panicked = |message| StartError::Panicked { provider: Arc::clone(&entry.name), run_id, message };
    let start = match contain(|| entry.provider.start(request, cell.settlement())) {
        Ok(start) => start,
        Err(message) => return Err(panicked(message)),
    };
    let given_up = || StartError::failed("the start went on after it was cancelled");
    let started = within_grace(cell, pin!(Some(start))).await;
    let started = started.map(|started| started.unwrap_or_else(|| Err(given_up())));
    match (started, cell.cancel_cause()) {
        (Ok(Ok(run)), _) => Ok(run),
        (_, Some(cause)) => Err(StartError::Cancelled { run_id, cause }),
        (Ok(Err(error)), None) => Err(error.of_run(&entry.name, run_id)),
        (Err(payload), None) => Err(panicked(message(payload))),
    }
}

/// What the provider's future returns, or its panic; `None` when it was cancelled and went on beyond the grace. Either
/// way the future is dropped, and a panic in that is contained as well.
pub(super) async fn within_grace<F: Future>(
    cell: &RunCell,
    mut future: Pin<&mut Option<F>>,
) -> Result<Option<F::Output>, Box<dyn Any + Send>> {
    let output = std::future::poll_fn(|context| match future.as_mut().as_pin_mut() {
        Some(future) => future.poll(context).map(Some),
        None => Poll::Ready(None),
    });
    let given_up = async {
        cell.cancelled().await;
        // Most starts are not cancelled: the timer has no place in their box.
        Box::pin(cell.pass(cell.hub.cancel_grace())).await;
    };
    let output = tokio::select! {
        biased;
        output = AssertUnwindSafe(output).catch_unwind() => output,
        () = given_up => Ok(None),
    };
    if let Err(message) = contain(|| future.set(None)) {
        let run_id = cell.identity.run_id;
        tracing::warn!(%run_id, message, "a provider panicked while what it had begun was dropped");
    }
    output
}

/// The first block of `content` that is not carried.
pub(crate) fn first_uncarried(
    content: &[ContentBlock],
    carried: ContentKinds,
) -> Option<(usize, ContentKind)> {
    content.iter().map(ContentBlock::kind).enumerate().find(|(_, kind)| !carried.contains(*kind))
}

/// Cancels the run when the token is cancelled, without a task: the token's future is polled once, and its waker
/// spawns the cancellation. The waker touches no token, since it is called under the token's locks.
pub(super) fn watch(cell: &Arc<RunCell>, token: CancellationToken) {
    let waker = Waker::from(Arc::new(CancelOnWake(Arc::downgrade(cell))));
    let mut cancelled = token.cancelled_owned().boxed();
    match cancelled.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(()) => cell.cancel(CancelCause::Token),
        Poll::Pending => cell.keep_watch(cancelled),
    }
}

struct CancelOnWake(Weak<RunCell>);

impl Wake for CancelOnWake {
    fn wake(self: Arc<Self>) {
        if let Some(cell) = self.0.upgrade() {
            let cancelled = CancelOnDrop(Arc::clone(&cell));
            cell.spawn(async move { drop(cancelled) });
        }
    }
}

/// Cancels the run in its task, or at once where no runtime is left to run it.
struct CancelOnDrop(Arc<RunCell>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel(CancelCause::Token);
    }
}

pub(super) struct AbandonOnDrop(pub(super) Arc<RunCell>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.abandon();
    }
}
