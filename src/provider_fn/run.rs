use std::fmt;
use std::marker::PhantomData;

use tokio::task::JoinHandle;

use crate::content::ContentBlock;
use crate::error::{DisposeError, ResumeError, SteerError};
use crate::run::{Absent, InboxSender, Presence, Present, Run, Settlement, Steerable};

/// A run of a [`ProviderFn`](super::ProviderFn): one Tokio task. `S` says whether it can be steered.
pub struct FnRun<S = Absent> {
    task: JoinHandle<()>,
    /// There where `S` is [`Present`].
    inbox: Option<InboxSender>,
    presence: PhantomData<fn() -> S>,
}

impl<S> FnRun<S> {
    pub(super) fn new(task: JoinHandle<()>, inbox: Option<InboxSender>) -> Self {
        Self { task, inbox, presence: PhantomData }
    }

    fn send(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.inbox.as_ref().ok_or(SteerError::Settled)?.send(content)
    }
}

impl<S: Presence> Run for FnRun<S> {
    type Steer = S;
    type Resume = Absent;

    async fn dispose(mut self) -> Result<(), DisposeError> {
        self.task.abort();
        // How the task ended, its run's settlement has told.
        (&mut self.task).await.ok();
        Ok(())
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, _proof: S) -> Result<(), SteerError> {
        self.send(content)
    }

    async fn resume_with(
        &self,
        _content: Vec<ContentBlock>,
        _settlement: Settlement,
        proof: Absent,
    ) -> Result<(), ResumeError> {
        match proof {}
    }
}

#[diagnostic::do_not_recommend]
impl Steerable for FnRun<Present> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.send(content)
    }
}

impl<S> Drop for FnRun<S> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<S: Presence> fmt::Debug for FnRun<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnRun")
            .field("steerable", &S::PRESENT)
            .field("finished", &self.task.is_finished())
            .finish_non_exhaustive()
    }
}
