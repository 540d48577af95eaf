//! What goes through a run while it works: updates from its child, messages to it.

use std::task::{Poll, Waker};

use tokio::time::Instant;

use super::{RunCell, wake};
use crate::content::ContentBlock;
use crate::error::SteerError;
use crate::run::Updates;
use crate::sync::lock;
use crate::update::Update;

impl RunCell {
    pub(in crate::run) fn report(&self, update: Update) {
        // Blocks of a provider's own are foreign code: what is no longer kept is dropped outside of the lock.
        let (watchers, dropped) = {
            let mut state = lock(&self.state);
            if state.is_over() {
                return;
            }
            state.last_activity = Some(Instant::now());
            state.transcript.record(&update);
            if let Update::Usage(usage) = &update {
                state.tokens.add(usage);
            }
            state.updates.push(update)
        };
        wake(watchers);
        drop(dropped);
    }

    /// The text that the child streamed so far: its last non-empty message.
    pub(in crate::run) fn streamed(&self) -> String {
        lock(&self.state).transcript.last_message()
    }

    /// Another child begins in the same run: what the one before said is not its own.
    pub(crate) fn forget_streamed(&self) {
        lock(&self.state).transcript.clear();
    }

    pub(in crate::run) fn watch_updates(&self) -> u64 {
        lock(&self.state).updates.add_watcher()
    }

    pub(in crate::run) fn unwatch_updates(&self, watcher: u64) {
        let waker = lock(&self.state).updates.remove_watcher(watcher);
        drop(waker);
    }

    pub(in crate::run) fn poll_update(
        &self,
        next: u64,
        watcher: u64,
        waker: &Waker,
    ) -> Poll<Option<<Updates as futures::Stream>::Item>> {
        // Wakers are foreign code too: cloned and dropped outside of the lock.
        let mut waker = Some(waker.clone());
        lock(&self.state).updates.poll(next, watcher, &mut waker)
    }

    pub(in crate::run) fn open_inbox(&self) -> u32 {
        lock(&self.state).messages.open()
    }

    pub(in crate::run) fn accept_message(
        &self,
        inbox: u32,
        content: Vec<ContentBlock>,
    ) -> Result<(), SteerError> {
        let reader = {
            let mut state = lock(&self.state);
            if state.takes_no_message() || state.messages.is_closed(inbox) {
                // What the content holds is dropped outside of the lock.
                return Err(SteerError::Settled);
            }
            state.messages.accept(inbox, content)
        };
        if let Some(reader) = reader {
            reader.wake();
        }
        Ok(())
    }

    pub(in crate::run) fn take_message(&self, inbox: u32) -> Option<Vec<ContentBlock>> {
        lock(&self.state).messages.take(inbox)
    }

    pub(in crate::run) fn poll_message(&self, inbox: u32, waker: &Waker) -> Poll<Option<Vec<ContentBlock>>> {
        let mut waker = Some(waker.clone());
        let mut state = lock(&self.state);
        let over = state.takes_no_message();
        state.messages.poll(inbox, over, &mut waker)
    }

    pub(in crate::run) fn close_inbox(&self, inbox: u32) {
        let reader = lock(&self.state).messages.close(inbox);
        drop(reader);
    }
}
