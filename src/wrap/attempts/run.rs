use std::fmt;
use std::sync::Arc;

use tokio::sync::RwLock;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::driver::dispose;
use crate::content::ContentBlock;
use crate::error::{DisposeError, ResumeError, SteerError};
use crate::run::{Resumable, Run, Settlement, Steerable};

/// A run of [`Retry`](crate::wrap::Retry) or [`Fallback`](crate::wrap::Fallback): at any time one child of the
/// provider inside, or none between two. It can be steered and resumed where that child can.
///
/// A message goes to the child that is there; sent between two, it waits for the next. Messages that a child accepted
/// are not repeated to the one after it: what it did not get to see is listed in the result. A follow-up goes to the
/// child that settled, and is not tried again.
pub struct AttemptRun<R> {
    /// Readers are messages on their way; the driver writes while it replaces the child, and they wait for the new
    /// one. The lock is one that is made to be held so.
    current: Arc<RwLock<Option<R>>>,
    driver: JoinHandle<Result<(), DisposeError>>,
    stop: CancellationToken,
}

impl<R> AttemptRun<R> {
    pub(super) fn new(
        current: Arc<RwLock<Option<R>>>,
        driver: JoinHandle<Result<(), DisposeError>>,
        stop: CancellationToken,
    ) -> Self {
        Self { current, driver, stop }
    }
}

impl<R: Run> Run for AttemptRun<R> {
    type Steer = R::Steer;
    type Resume = R::Resume;

    async fn dispose(mut self) -> Result<(), DisposeError> {
        self.stop.cancel();
        let earlier = match (&mut self.driver).await {
            Ok(disposed) => disposed,
            Err(error) => Err(DisposeError::failed(error)),
        };
        let last = self.current.write().await.take();
        let last = match last {
            Some(run) => dispose(run).await,
            None => Ok(()),
        };
        earlier.and(last)
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, proof: R::Steer) -> Result<(), SteerError> {
        let current = self.current.read().await;
        let run = current.as_ref().ok_or(SteerError::Settled)?;
        run.steer_with(content, proof).await
    }

    async fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        proof: R::Resume,
    ) -> Result<(), ResumeError> {
        let current = self.current.read().await;
        let run = current.as_ref().ok_or_else(|| ResumeError::failed("no child is left to resume"))?;
        run.resume_with(content, settlement, proof).await
    }
}

#[diagnostic::do_not_recommend]
impl<R: Steerable> Steerable for AttemptRun<R> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.steer_with(content, crate::run::Present).await
    }
}

#[diagnostic::do_not_recommend]
impl<R: Resumable> Resumable for AttemptRun<R> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.resume_with(content, settlement, crate::run::Present).await
    }
}

impl<R> Drop for AttemptRun<R> {
    fn drop(&mut self) {
        // With its driver and this handle, the child goes.
        self.driver.abort();
    }
}

impl<R> fmt::Debug for AttemptRun<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptRun").field("driven", &!self.driver.is_finished()).finish_non_exhaustive()
    }
}
