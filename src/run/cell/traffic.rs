//! What goes through a run while it works: updates from its child, messages to it.

use std::task::{Poll, Waker};

use tokio::time::Instant;

use super::closed::{wake, wake_one};
use super::{RunCell, State};
use crate::content::ContentBlock;
use crate::error::SteerError;
use crate::run::Updates;
use crate::run::inbox::Messages;
use crate::run::transcript::Transcript;
use crate::run::updates::UpdateLog;
use crate::sync::lock;
use crate::update::Update;

/// What went through a run so far.
#[derive(Default)]
pub(super) struct Traffic {
    transcript: Transcript,
    pub(super) updates: UpdateLog,
    pub(super) messages: Messages,
}

impl Traffic {
    /// The last message, and the messages that nobody received.
    pub(super) fn end(&mut self) -> (String, Vec<Vec<ContentBlock>>) {
        let streamed = self.transcript.last_message();
        self.transcript.clear();
        (streamed, self.messages.drain())
    }

    pub(super) fn last_line(&self) -> Option<&str> {
        self.transcript.last_line()
    }
}

impl State {
    fn traffic(&mut self) -> &mut Traffic {
        self.traffic.get_or_insert_default()
    }
}

impl RunCell {
    pub(in crate::run) fn report(&self, update: Update) {
        // Blocks of a provider's own are foreign code: what is no longer kept is dropped outside of the lock.
        let (watchers, dropped) = {
            let mut state = lock(&self.state);
            if state.is_over() {
                return;
            }
            state.last_activity = Some(Instant::now());
            if let Update::Usage(usage) = &update {
                state.tokens.add(usage);
            }
            let traffic = state.traffic();
            traffic.transcript.record(&update);
            traffic.updates.push(update)
        };
        wake(watchers);
        drop(dropped);
    }

    /// The text that the child streamed so far: its last non-empty message.
    pub(in crate::run) fn streamed(&self) -> String {
        lock(&self.state)
            .traffic
            .as_ref()
            .map(|traffic| traffic.transcript.last_message())
            .unwrap_or_default()
    }

    /// Another child begins in the same run: what the one before said is not its own.
    pub(crate) fn forget_streamed(&self) {
        if let Some(traffic) = &mut lock(&self.state).traffic {
            traffic.transcript.clear();
        }
    }

    pub(in crate::run) fn watch_updates(&self) -> u64 {
        lock(&self.state).traffic().updates.add_watcher()
    }

    pub(in crate::run) fn unwatch_updates(&self, watcher: u64) {
        let waker = lock(&self.state).traffic().updates.remove_watcher(watcher);
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
        let mut state = lock(&self.state);
        let closed = state.is_gone();
        state.traffic().updates.poll(next, watcher, closed, &mut waker)
    }

    pub(in crate::run) fn open_inbox(&self) -> u32 {
        lock(&self.state).traffic().messages.open()
    }

    pub(in crate::run) fn accept_message(
        &self,
        inbox: u32,
        content: Vec<ContentBlock>,
    ) -> Result<(), SteerError> {
        let reader = {
            let mut state = lock(&self.state);
            if state.takes_no_message() || state.traffic().messages.is_closed(inbox) {
                // What the content holds is dropped outside of the lock.
                return Err(SteerError::Settled);
            }
            state.traffic().messages.accept(inbox, content)
        };
        if let Some(reader) = reader {
            wake_one(reader);
        }
        Ok(())
    }

    pub(in crate::run) fn take_message(&self, inbox: u32) -> Option<Vec<ContentBlock>> {
        lock(&self.state).traffic().messages.take(inbox)
    }

    pub(in crate::run) fn poll_message(&self, inbox: u32, waker: &Waker) -> Poll<Option<Vec<ContentBlock>>> {
        let mut waker = Some(waker.clone());
        let mut state = lock(&self.state);
        let over = state.takes_no_message();
        state.traffic().messages.poll(inbox, over, &mut waker)
    }

    pub(in crate::run) fn close_inbox(&self, inbox: u32) {
        let reader = lock(&self.state).traffic().messages.close(inbox);
        drop(reader);
    }
}
