//! What is to be woken and dropped of a run, outside of the state's lock: all of it is foreign code.

use std::task::Waker;

use futures::future::BoxFuture;

use super::waiters::Woken;
use crate::error::contain;

/// What a run leaves behind when it is gone.
pub(super) struct Closed {
    pub(super) watches: Vec<BoxFuture<'static, ()>>,
    pub(super) watchers: Vec<(u64, Waker)>,
    pub(super) readers: Vec<(u32, Waker)>,
    pub(super) waiters: Woken,
}

impl Closed {
    pub(super) fn wake(self) {
        if let Err(message) = contain(|| drop(self.watches)) {
            tracing::error!(message, "a caller's token panicked while it was let go of");
        }
        wake(self.watchers);
        wake(self.readers);
        self.waiters.wake();
    }
}

pub(super) fn wake<Id>(waiting: Vec<(Id, Waker)>) {
    for (_, waker) in waiting {
        wake_one(waker);
    }
}

/// Wakers are foreign code: one that panics keeps nobody else waiting.
pub(super) fn wake_one(waker: Waker) {
    if let Err(message) = contain(|| waker.wake()) {
        tracing::error!(message, "a waker panicked; the others are woken all the same");
    }
}
