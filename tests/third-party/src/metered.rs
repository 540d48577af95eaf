use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use subagent::{
    ContentBlock, ContentKinds, DisposeError, Provider, Resumable, ResumeError, Run, Settlement, StartError,
    StartRequest, SteerError, Steerable,
};

/// Counts what the provider inside is asked to do, and supports what that one does: no more, no less.
#[derive(Debug)]
pub struct Metered<P> {
    inner: P,
    asked: Arc<AtomicU64>,
}

impl<P> Metered<P> {
    /// Counts what `inner` is asked to do.
    pub fn new(inner: P) -> Self {
        Self { inner, asked: Arc::default() }
    }

    /// How many starts, messages and follow-ups there were.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }
}

subagent::supports!(Metered<P> => P);

impl<P: Provider> Provider for Metered<P> {
    type Run = MeteredRun<P::Run>;

    async fn start(
        &self,
        request: StartRequest,
        settlement: Settlement,
    ) -> Result<MeteredRun<P::Run>, StartError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let run = self.inner.start(request, settlement).await?;
        Ok(MeteredRun { run, asked: Arc::clone(&self.asked) })
    }

    fn content(&self) -> ContentKinds {
        self.inner.content()
    }

    fn sees_conversation(&self) -> bool {
        self.inner.sees_conversation()
    }
}

/// A run that can do what the run inside it can.
#[derive(Debug)]
pub struct MeteredRun<R> {
    run: R,
    asked: Arc<AtomicU64>,
}

impl<R: Run> Run for MeteredRun<R> {
    type Steer = R::Steer;
    type Resume = R::Resume;

    async fn dispose(self) -> Result<(), DisposeError> {
        self.run.dispose().await
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, proof: R::Steer) -> Result<(), SteerError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.run.steer_with(content, proof).await
    }

    async fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        proof: R::Resume,
    ) -> Result<(), ResumeError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.run.resume_with(content, settlement, proof).await
    }
}

impl<R: Steerable> Steerable for MeteredRun<R> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.steer_with(content, subagent::Present).await
    }
}

impl<R: Resumable> Resumable for MeteredRun<R> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.resume_with(content, settlement, subagent::Present).await
    }
}
