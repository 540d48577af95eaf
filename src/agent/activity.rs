use std::future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{self, Instant};

/// When an agent last showed life: a token, a tool event, or a sign of life of a child that it waits for. What the
/// idle limit counts from.
#[derive(Debug, Clone)]
pub(crate) struct Activity(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    last: Mutex<Instant>,
    /// The agent that waits for this one.
    above: Option<Activity>,
}

impl Activity {
    pub(super) fn new(above: Option<Self>) -> Self {
        Self(Arc::new(Inner { last: Mutex::new(Instant::now()), above }))
    }

    pub(super) fn touch(&self) {
        let now = Instant::now();
        let mut next = Some(self);
        while let Some(activity) = next {
            *activity.0.last.lock().unwrap_or_else(PoisonError::into_inner) = now;
            next = activity.0.above.as_ref();
        }
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
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
