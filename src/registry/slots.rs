use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::sync::lock;

/// How many runs may be live at once, for each depth on its own: a child that waits for its own children would else
/// wait for itself.
pub(super) struct Slots {
    most: NonZeroUsize,
    by_depth: Mutex<HashMap<u32, Arc<Semaphore>>>,
}

/// A run's place among the live ones; dropped, the next in the queue has it.
pub(super) type Slot = OwnedSemaphorePermit;

impl Slots {
    pub(super) fn new(most: NonZeroUsize) -> Self {
        Self { most, by_depth: Mutex::default() }
    }

    /// Waits in the queue of this depth for a place.
    pub(super) async fn take(&self, depth: u32) -> Option<Slot> {
        let most = self.most.get().min(Semaphore::MAX_PERMITS);
        let queue =
            Arc::clone(lock(&self.by_depth).entry(depth).or_insert_with(|| Arc::new(Semaphore::new(most))));
        // It is never closed.
        queue.acquire_owned().await.ok()
    }
}
