use std::future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{self, Instant};

/// When an agent last showed life: a token, a tool event. What the idle limit counts from.
#[derive(Debug, Clone)]
pub(super) struct Activity(Arc<Mutex<Instant>>);

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }

    pub(super) fn touch(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Ends once nothing has happened for `limit`; never without a limit.
    pub(super) async fn idle(&self, limit: Option<Duration>) {
        let Some(limit) = limit else { return future::pending().await };
        loop {
            let last = self.last();
            let Some(deadline) = last.checked_add(limit) else { return future::pending().await };
            time::sleep_until(deadline).await;
            if self.last() == last {
                return;
            }
        }
    }

    fn last(&self) -> Instant {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
