use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Poll, Waker};

use super::RunCell;
use crate::content::ContentBlock;
use crate::error::SteerError;

/// The child's end of an inbox: where it reads the messages that its run accepted while it works.
///
/// Made with [`Settlement::inbox`](crate::Settlement::inbox). An accepted message is either received here or listed
/// in the run's [`Outcome::undelivered`](crate::Outcome::undelivered), exactly once: the seam closes the inbox in the
/// very moment in which the run settles. Dropping the inbox closes it earlier.
#[must_use = "dropping an inbox closes it: its run accepts no message any more"]
pub struct Inbox {
    cell: Arc<RunCell>,
    id: u32,
}

impl Inbox {
    /// The next message, in the order accepted. `None` when none is left and none can come any more: the run is
    /// cancelled or has settled.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe: no message is lost by dropping the future.
    pub async fn recv(&mut self) -> Option<Vec<ContentBlock>> {
        std::future::poll_fn(|context| self.cell.poll_message(self.id, context.waker())).await
    }

    /// The next message's text: its text blocks, joined by blank lines. That is the whole message where the provider
    /// carries text alone.
    ///
    /// # Cancel safety
    ///
    /// As [`recv`](Self::recv).
    pub async fn recv_text(&mut self) -> Option<String> {
        self.recv().await.map(|message| crate::content::joined_text(&message))
    }

    /// The next message that is there already.
    #[must_use]
    pub fn try_recv(&mut self) -> Option<Vec<ContentBlock>> {
        self.cell.take_message(self.id)
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        self.cell.close_inbox(self.id);
    }
}

impl fmt::Debug for Inbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inbox").field("run_id", &self.cell.identity.run_id).finish_non_exhaustive()
    }
}

/// The run's end of an inbox: what its [`send_message`](crate::Steerable::send_message) hands messages to. Cheap to
/// clone.
#[derive(Clone)]
pub struct InboxSender {
    cell: Arc<RunCell>,
    id: u32,
}

impl InboxSender {
    /// Leaves a message for the child. `Ok` means accepted, not read.
    ///
    /// # Errors
    ///
    /// [`SteerError::Settled`] when the run has settled or is cancelled, or when the child closed its inbox.
    pub fn send(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.cell.accept_message(self.id, content)
    }
}

impl fmt::Debug for InboxSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InboxSender").field("run_id", &self.cell.identity.run_id).finish_non_exhaustive()
    }
}

/// A new inbox of this run, apart from any other of it.
pub(super) fn open(cell: &Arc<RunCell>) -> (InboxSender, Inbox) {
    let id = cell.open_inbox();
    (InboxSender { cell: Arc::clone(cell), id }, Inbox { cell: Arc::clone(cell), id })
}

/// The messages that a run accepted and its child has not received yet. A run has one inbox, or, under a wrapper
/// that starts several children, one for each.
#[derive(Default)]
pub(super) struct Messages {
    accepted: VecDeque<(u32, Vec<ContentBlock>)>,
    waiting: Vec<(u32, Waker)>,
    closed: Vec<u32>,
    opened: u32,
}

impl Messages {
    pub(super) fn open(&mut self) -> u32 {
        self.opened += 1;
        self.opened
    }

    pub(super) fn is_closed(&self, id: u32) -> bool {
        self.closed.contains(&id)
    }

    /// Accepts a message, and returns whom to wake, outside of any lock.
    pub(super) fn accept(&mut self, id: u32, content: Vec<ContentBlock>) -> Option<Waker> {
        self.accepted.push_back((id, content));
        self.stop_waiting(id)
    }

    pub(super) fn take(&mut self, id: u32) -> Option<Vec<ContentBlock>> {
        let at = self.accepted.iter().position(|(inbox, _)| *inbox == id)?;
        self.accepted.remove(at).map(|(_, content)| content)
    }

    /// The next message of the inbox; `None` where none is there and `over` says that none can come. Otherwise keeps
    /// `waker` and leaves the earlier one in its place, to be dropped outside of any lock.
    pub(super) fn poll(
        &mut self,
        id: u32,
        over: bool,
        waker: &mut Option<Waker>,
    ) -> Poll<Option<Vec<ContentBlock>>> {
        let message = self.take(id);
        if message.is_some() || over {
            return Poll::Ready(message);
        }
        match self.waiting.iter_mut().find(|(waiting, _)| *waiting == id) {
            Some((_, earlier)) => {
                if let Some(waker) = waker {
                    std::mem::swap(earlier, waker);
                }
            }
            None => self.waiting.extend(waker.take().map(|waker| (id, waker))),
        }
        Poll::Pending
    }

    /// Accepts nothing more for this inbox. What it still holds stays undelivered.
    pub(super) fn close(&mut self, id: u32) -> Option<Waker> {
        self.closed.push(id);
        self.stop_waiting(id)
    }

    /// No message can come any more: whom to wake.
    pub(super) fn stop(&mut self) -> Vec<(u32, Waker)> {
        std::mem::take(&mut self.waiting)
    }

    /// What nobody received, in the order accepted.
    pub(super) fn drain(&mut self) -> Vec<Vec<ContentBlock>> {
        std::mem::take(&mut self.accepted).into_iter().map(|(_, content)| content).collect()
    }

    fn stop_waiting(&mut self, id: u32) -> Option<Waker> {
        let at = self.waiting.iter().position(|(waiting, _)| *waiting == id)?;
        Some(self.waiting.swap_remove(at).1)
    }
}
