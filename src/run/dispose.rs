use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use tokio::sync::oneshot;

use super::{Run, RunCell};
use crate::error::{DisposeError, chain, contain, message};

/// A child that is being disposed of: a future that is ready when the child is quiescent.
///
/// # Cancel safety
///
/// The disposal goes on in the background if the future is dropped, polled or not.
#[must_use = "await the disposal to know that the child is gone; dropped, it goes on in the background"]
pub struct Dispose(Option<Disposal>);

impl Dispose {
    pub(super) fn new<R: Run>(run: R, cell: Arc<RunCell>) -> Self {
        Self(Some(Disposal::new(run, cell)))
    }
}

impl Future for Dispose {
    type Output = Result<(), DisposeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(disposal) = &mut self.0 else { return Poll::Ready(Ok(())) };
        let disposed = disposal.poll(context);
        if disposed.is_ready() {
            self.0 = None;
        }
        disposed
    }
}

impl Drop for Dispose {
    fn drop(&mut self) {
        if let Some(disposal) = self.0.take() {
            disposal.go_on_in_background();
        }
    }
}

impl fmt::Debug for Dispose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run_id = self.0.as_ref().map(|disposal| disposal.cell.identity.run_id);
        f.debug_struct("Dispose").field("run_id", &run_id).finish_non_exhaustive()
    }
}

/// Disposes of a run whose handle was dropped, in the background, on the run's own runtime.
pub(super) fn reap<R: Run>(run: R, cell: &Arc<RunCell>) {
    tracing::warn!(
        run_id = %cell.identity.run_id,
        provider = %cell.identity.provider,
        "a run's handle was dropped; its child is disposed of in the background (`collect` or `dispose` it instead)"
    );
    Disposal::new(run, Arc::clone(cell)).go_on_in_background();
}

/// Disposes of a run in the background, on its own runtime; the future is ready when that is over. Dropping it stops
/// the waiting alone.
pub(super) fn dispose_in_background<R: Run>(
    run: R,
    cell: &Arc<RunCell>,
) -> impl Future<Output = ()> + use<R> {
    let (over, wait) = oneshot::channel::<()>();
    Disposal::new(run, Arc::clone(cell)).in_background(Some(over));
    async { drop(wait.await) }
}

/// A disposal under way. Dropped before its end, because no runtime is left, it drops the run, whose own drop ends
/// the child.
struct Disposal {
    future: Option<BoxFuture<'static, Result<(), DisposeError>>>,
    cell: Arc<RunCell>,
}

impl Disposal {
    fn new<R: Run>(run: R, cell: Arc<RunCell>) -> Self {
        Self { future: Some(run.dispose_boxed()), cell }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), DisposeError>> {
        let Some(future) = &mut self.future else { return Poll::Ready(Ok(())) };
        let _entered = self.cell.enter_own_runtime();
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(polled) => polled,
            Err(payload) => Poll::Ready(Err(DisposeError::Panicked { message: message(payload) })),
        }
    }

    fn go_on_in_background(self) {
        self.in_background(None);
    }

    fn in_background(mut self, over: Option<oneshot::Sender<()>>) {
        let cell = Arc::clone(&self.cell);
        cell.spawn(async move {
            if let Err(error) = std::future::poll_fn(|context| self.poll(context)).await {
                tracing::error!(
                    run_id = %self.cell.identity.run_id,
                    error = chain(&error),
                    "a child was not disposed of in the background"
                );
            }
            drop(self);
            drop(over);
        });
    }
}

impl Drop for Disposal {
    fn drop(&mut self) {
        // What a run does when it is dropped is foreign code.
        if let Err(message) = contain(|| self.future = None) {
            tracing::warn!(run_id = %self.cell.identity.run_id, message, "a run panicked while it was dropped");
        }
        self.cell.force();
    }
}
