use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use crate::error::contain;
use crate::event::Event;
use crate::sync::lock;

type Listener = dyn Fn(&Event) + Send + Sync;
type Numbered = (u64, Arc<Listener>);

/// Who is told of events, in the order of subscription.
#[derive(Default)]
pub(super) struct Listeners(Arc<List>);

#[derive(Default)]
struct List {
    /// Replaced as a whole, so that events are told without a lock.
    current: Mutex<Arc<[Numbered]>>,
    next: AtomicU64,
}

impl Listeners {
    /// Tells every listener, one after another. A panic of one is logged and starves no other.
    pub(super) fn tell(&self, event: impl FnOnce() -> Event) {
        let listeners = Arc::clone(&lock(&self.0.current));
        if listeners.is_empty() {
            return;
        }
        let event = event();
        for (_, listener) in &*listeners {
            if let Err(message) = contain(|| listener(&event)) {
                tracing::error!(message, "a listener panicked; the others are told all the same");
            }
        }
        // Those that unsubscribed meanwhile are dropped here, and what they hold is foreign code.
        if let Err(message) = contain(|| drop(listeners)) {
            tracing::error!(message, "a listener that had unsubscribed panicked while it was dropped");
        }
    }

    pub(super) fn add(&self, listener: Arc<Listener>) -> Subscription {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let mut current = lock(&self.0.current);
        *current = current.iter().cloned().chain([(id, listener)]).collect();
        Subscription { list: Arc::downgrade(&self.0), id }
    }
}

/// A listener's subscription: it ends when this guard is dropped.
#[must_use = "dropping a `Subscription` ends it; keep it as long as the listener is to be told"]
pub struct Subscription {
    list: Weak<List>,
    id: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(list) = self.list.upgrade() else { return };
        let earlier = {
            let mut current = lock(&list.current);
            let rest = current.iter().filter(|(id, _)| *id != self.id).cloned().collect();
            std::mem::replace(&mut *current, rest)
        };
        // The listener is dropped outside of the lock: it may hold subscriptions of its own.
        drop(earlier);
    }
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").field("id", &self.id).finish_non_exhaustive()
    }
}
