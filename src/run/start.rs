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
use crate::request::RequestBody;
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
    /// `None` where the start was refused at once.
    run_id: Option<RunId>,
    state: State<R>,
    output_type: PhantomData<fn() -> O>,
}

enum State<R> {
    Refused(StartError),
    Starting { start: BoxFuture<'static, Result<R, StartError>>, cell: Arc<RunCell>, polled: bool },
    Over,
}

impl<R: Run, O> Start<R, O> {
    pub(crate) fn new(start: BoxFuture<'static, Result<R, StartError>>, cell: Arc<RunCell>) -> Self {
        Self {
            run_id: Some(cell.identity.run_id),
            state: State::Starting { start, cell, polled: false },
            output_type: PhantomData,
        }
    }

    pub(crate) fn refused(error: StartError) -> Self {
        Self { run_id: None, state: State::Refused(error), output_type: PhantomData }
    }

    /// The kind of agent that is started.
    pub(crate) fn agent_type(&self) -> Option<Arc<str>> {
        match &self.state {
            State::Refused(_) | State::Over => None,
            State::Starting { cell, .. } => cell.identity.agent_type.clone(),
        }
    }

    /// The run's id, known before the child exists; `None` when the start is refused already.
    #[must_use]
    pub fn run_id(&self) -> Option<RunId> {
        self.run_id
    }
}

impl<R: Run, O> Future for Start<R, O> {
    type Output = Result<Live<R, O>, StartError>;

    #[expect(clippy::panic, reason = "polling a future after it is ready is a bug of its caller")]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut started = None;
        if let State::Starting { start, polled, .. } = &mut self.state {
            *polled = true;
            let Poll::Ready(ready) = start.as_mut().poll(context) else { return Poll::Pending };
            started = Some(ready);
        }
        match (std::mem::replace(&mut self.state, State::Over), started) {
            (State::Starting { cell, .. }, Some(started)) => {
                Poll::Ready(started.map(|run| Live::new(run, cell)))
            }
            (State::Refused(error), _) => Poll::Ready(Err(error)),
            _ => panic!("`Start` was polled after it was ready"),
        }
    }
}

impl<R: Run, O> Drop for Start<R, O> {
    fn drop(&mut self) {
        let State::Starting { start, cell, polled: true } = std::mem::replace(&mut self.state, State::Over)
        else {
            return;
        };
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

/// Starts a run: checks, the provider's own start, publication. `form` makes of the run what the caller holds.
#[expect(clippy::manual_async_fn, reason = "an `async fn` keeps every argument twice in its future")]
pub(crate) fn start_run<P: Provider, R>(
    entry: Arc<Entry<P>>,
    cell: Arc<RunCell>,
    mut body: RequestBody,
    form: fn(P::Run) -> R,
) -> impl Future<Output = Result<R, StartError>> + Send {
    async move {
        begin(&entry, &cell, &mut body)?;
        // Wakes whoever waits on a run that never came to be, at whichever line this future ends or is dropped.
        let mut unpublished = AbandonOnDrop::new(&cell);
        let run_id = cell.identity.run_id;
        cell.hub.take_slot(&cell).await.map_err(|cause| StartError::Cancelled { run_id, cause })?;
        let span = cell.begin_span();
        let begun =
            span.in_scope(|| contain(|| entry.provider.start(cell.start_request(body), cell.settlement())));
        let run = match begun {
            Ok(start) => {
                started(&entry, &cell, within_grace(&cell, pin!(Some(start))).instrument(span.clone()).await)
            }
            Err(message) => Err(panicked(&entry, &cell, message)),
        };
        let run = run.inspect_err(|error| trace::not_started(&span, error.code(), error))?;
        let Err(refused) = publish(&entry, &cell) else {
            unpublished.disarm();
            return Ok(form(run));
        };
        trace::not_started(&span, refused.code(), &refused);
        // A disposal may rely on the child's having been told.
        cell.cancel(CancelCause::Disposed);
        // In the background: `shutdown` waits for it there, whether or not anyone polls this start on.
        let disposed = dispose_in_background(run, &cell);
        drop(unpublished);
        disposed.await;
        Err(refused)
    }
}

/// What comes before the provider: the checks, and the run's place among the others. Where it fails, it left no trace.
fn begin<P: Provider>(
    entry: &Entry<P>,
    cell: &Arc<RunCell>,
    body: &mut RequestBody,
) -> Result<(), StartError> {
    entry.check(body)?;
    let runtime = Handle::try_current().map_err(|_| StartError::NoRuntime)?;
    cell.enter(runtime);
    let own = body.cancellation.take();
    let parents = body.parent.as_ref().and_then(|parent| parent.cancellation());
    let tokens = own.iter().chain(parents);
    if tokens.clone().any(CancellationToken::is_cancelled) {
        return Err(StartError::Cancelled { run_id: cell.identity.run_id, cause: CancelCause::Token });
    }
    if body.time_limit.is_some() && !timer::is_there() {
        return Err(StartError::NoTimer);
    }
    cell.hub.add_run(cell)?;
    tokens.for_each(|token| watch(cell, token.clone()));
    if let Some(limit) = body.time_limit {
        cell.limit_time(limit);
    }
    Ok(())
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

/// The run that the provider started. A start that failed while it was cancelled failed for that.
fn started<P: Provider>(
    entry: &Entry<P>,
    cell: &RunCell,
    started: WithinGrace<Result<P::Run, StartError>>,
) -> Result<P::Run, StartError> {
    let run_id = cell.identity.run_id;
    let failed = match started {
        Ok(Some(Ok(run))) => return Ok(run),
        Ok(Some(Err(error))) => error.of_run(&entry.name, run_id),
        Ok(None) => StartError::failed("the start went on after it was cancelled"),
        Err(payload) => panicked(entry, cell, message(payload)),
    };
    Err(match cell.cancel_cause() {
        Some(cause) => StartError::Cancelled { run_id, cause },
        None => failed,
    })
}

fn panicked<P>(entry: &Entry<P>, cell: &RunCell, message: String) -> StartError {
    StartError::Panicked { provider: Arc::clone(&entry.name), run_id: cell.identity.run_id, message }
}

/// What a provider's future returned, if it did within the grace, or its panic.
type WithinGrace<T> = Result<Option<T>, Box<dyn Any + Send>>;

/// What the provider's future returns, or its panic; `None` when it was cancelled and went on beyond the grace. Either
/// way the future is dropped, and a panic in that is contained as well.
pub(super) async fn within_grace<F: Future>(
    cell: &RunCell,
    mut future: Pin<&mut Option<F>>,
) -> WithinGrace<F::Output> {
    let mut output = AssertUnwindSafe(std::future::poll_fn(|context| match future.as_mut().as_pin_mut() {
        Some(future) => future.poll(context).map(Some),
        None => Poll::Ready(None),
    }))
    .catch_unwind();
    // Many are ready at once: what waits has no place in their box.
    let output = match std::future::poll_fn(|context| Poll::Ready(output.poll_unpin(context))).await {
        Poll::Ready(output) => output,
        Poll::Pending => {
            let given_up = async {
                cell.cancelled().await;
                cell.pass(cell.hub.cancel_grace()).await;
            };
            Box::pin(async {
                tokio::select! {
                    biased;
                    output = output => output,
                    () = given_up => Ok(None),
                }
            })
            .await
        }
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

/// Abandons a run that is not published when this is dropped.
pub(super) struct AbandonOnDrop<'a> {
    cell: Option<&'a RunCell>,
}

impl<'a> AbandonOnDrop<'a> {
    pub(super) fn new(cell: &'a RunCell) -> Self {
        Self { cell: Some(cell) }
    }

    /// The run is published.
    fn disarm(&mut self) {
        self.cell = None;
    }
}

impl Drop for AbandonOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(cell) = self.cell {
            cell.abandon();
        }
    }
}
