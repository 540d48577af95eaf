use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::content::ContentBlock;

/// Where messages for a running turn are left; cheap to clone, all clones are one.
///
/// The agent looks into it between two steps, and once more before its turn ends: as long as it accepts, what it
/// accepts is seen by the model, in order, once. What a cancelled or failed turn did not deliver is handed back
/// with its outcome. An inbox serves one turn of an agent that is run by hand, without a run around it; the one of a run
/// is [`run::Inbox`](crate::run::Inbox).
#[derive(Debug, Clone, Default)]
pub struct Inbox(Arc<Mutex<State>>);

impl Inbox {
    /// An empty inbox.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves a message. `Ok` means accepted, not read.
    ///
    /// # Errors
    ///
    /// When the turn has ended: the error gives the message back.
    pub fn send(&self, content: Vec<ContentBlock>) -> Result<(), InboxClosed> {
        let mut state = self.state();
        if state.closed {
            return Err(InboxClosed { content });
        }
        state.messages.push_back(content);
        Ok(())
    }

    /// Whether the turn has ended.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Whether a message is waiting.
    pub(super) fn has_messages(&self) -> bool {
        !self.state().messages.is_empty()
    }

    /// Takes the next message.
    pub(super) fn take(&self) -> Option<Vec<ContentBlock>> {
        self.state().messages.pop_front()
    }

    /// Accepts nothing more, unless a message is waiting: then it says no, and the turn has to go on.
    pub(super) fn close_if_empty(&self) -> bool {
        let mut state = self.state();
        state.closed = state.messages.is_empty();
        state.closed
    }

    /// Accepts nothing more and gives back what is waiting.
    pub(super) fn close(&self) -> Vec<Vec<ContentBlock>> {
        let mut state = self.state();
        state.closed = true;
        state.messages.drain(..).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The turn has ended: nobody would read the message.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("the turn has ended: the message was not accepted")]
#[non_exhaustive]
pub struct InboxClosed {
    /// The message, given back.
    pub content: Vec<ContentBlock>,
}

impl InboxClosed {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "INBOX_CLOSED"
    }
}

#[derive(Debug, Default)]
struct State {
    messages: VecDeque<Vec<ContentBlock>>,
    closed: bool,
}
