//! How a run is cancelled: its provider is told, and has the grace to settle.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::RunCell;
use super::closed::wake;
use crate::run::CancelCause;
use crate::run::force_on_drop::ForceOnDrop;
use crate::sync::lock;

impl RunCell {
    /// Cancels the run: its provider is told, and after the grace the seam settles in its place.
    pub(crate) fn cancel(self: &Arc<Self>, cause: CancelCause) {
        let readers = {
            let mut state = lock(&self.state);
            if state.is_over() || state.cancel.is_some() {
                return;
            }
            state.cancel = Some(cause);
            state.stop_reading()
        };
        wake(readers);
        self.cancelled.notify_waiters();
        if let Some(token) = self.token.get() {
            token.cancel();
        }
        // Where no runtime is left, the guard is dropped at once and settles the run.
        let guard = ForceOnDrop(Arc::clone(self));
        let grace = self.hub.cancel_grace();
        self.spawn(async move {
            tokio::select! {
                () = guard.0.gone() => {}
                () = guard.0.pass(grace) => {}
            }
        });
    }

    pub(crate) fn cancel_cause(&self) -> Option<CancelCause> {
        lock(&self.state).cancel.clone()
    }

    pub(crate) async fn cancelled(&self) -> CancelCause {
        loop {
            let cancelled = self.cancelled.notified();
            if let Some(cause) = self.cancel_cause() {
                return cause;
            }
            cancelled.await;
        }
    }

    pub(in crate::run) fn token(&self) -> CancellationToken {
        let token = self.token.get_or_init(CancellationToken::new);
        if self.cancel_cause().is_some() {
            token.cancel();
        }
        token.clone()
    }

    /// Keeps the future of a caller's token, polled once; its waker cancels the run.
    pub(in crate::run) fn keep_watch(&self, watch: BoxFuture<'static, ()>) {
        let mut state = lock(&self.state);
        if !state.is_gone() {
            state.watches.push(watch);
        }
    }

    /// Cancels the run when `limit` has passed.
    pub(in crate::run) fn limit_time(self: &Arc<Self>, limit: Duration) {
        let cell = Arc::clone(self);
        self.spawn(async move {
            let passed = tokio::select! {
                () = cell.gone() => false,
                () = cell.pass(limit) => true,
            };
            if passed {
                cell.cancel(CancelCause::TimeLimit);
            }
        });
    }
}
