//! A provider whose every part a test can write.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use subagent::{
    ContentBlock, DisposeError, Provider, Resumable, ResumeError, Run, Settlement, StartError, StartRequest,
    SteerError, Steerable,
};

type Starting = BoxFuture<'static, Result<CustomRun, StartError>>;
type Disposing = BoxFuture<'static, Result<(), DisposeError>>;
type Sending = BoxFuture<'static, Result<(), SteerError>>;
type Resuming = BoxFuture<'static, Result<(), ResumeError>>;

type OnDispose = Box<dyn FnOnce() -> Disposing + Send + Sync>;
type OnSend = Box<dyn Fn(Vec<ContentBlock>) -> Sending + Send + Sync>;
type OnResume = Box<dyn Fn(Vec<ContentBlock>, Settlement) -> Resuming + Send + Sync>;

pub(crate) struct Custom(Box<dyn Fn(StartRequest, Settlement) -> Starting + Send + Sync>);

subagent::supports!(Custom:);

impl Custom {
    pub(crate) fn new<Fut>(start: impl Fn(StartRequest, Settlement) -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = Result<CustomRun, StartError>> + Send + 'static,
    {
        Self(Box::new(move |request, settlement| start(request, settlement).boxed()))
    }
}

impl Provider for Custom {
    type Run = CustomRun;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<CustomRun, StartError> {
        (self.0)(request, settlement).await
    }
}

/// A run without a child, unless its parts say otherwise.
#[derive(Default)]
pub(crate) struct CustomRun {
    dispose: Option<OnDispose>,
    send: Option<OnSend>,
    resume: Option<OnResume>,
    held: Vec<Arc<dyn std::any::Any + Send + Sync>>,
}

impl CustomRun {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn on_dispose<Fut>(mut self, dispose: impl FnOnce() -> Fut + Send + Sync + 'static) -> Self
    where
        Fut: Future<Output = Result<(), DisposeError>> + Send + 'static,
    {
        self.dispose = Some(Box::new(move || dispose().boxed()));
        self
    }

    pub(crate) fn on_send<Fut>(
        mut self,
        send: impl Fn(Vec<ContentBlock>) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = Result<(), SteerError>> + Send + 'static,
    {
        self.send = Some(Box::new(move |content| send(content).boxed()));
        self
    }

    pub(crate) fn on_resume<Fut>(
        mut self,
        resume: impl Fn(Vec<ContentBlock>, Settlement) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = Result<(), ResumeError>> + Send + 'static,
    {
        self.resume = Some(Box::new(move |content, settlement| resume(content, settlement).boxed()));
        self
    }

    /// Keeps something that is dropped with the run.
    pub(crate) fn holding(mut self, held: impl Send + Sync + 'static) -> Self {
        self.held.push(Arc::new(held));
        self
    }
}

impl Run for CustomRun {
    subagent::steerable!();
    subagent::resumable!();

    // Not an `async fn`: the first part of a disposal may be called outside of any poll.
    fn dispose(mut self) -> impl Future<Output = Result<(), DisposeError>> + Send {
        let disposing = self.dispose.take().map(|dispose| dispose());
        async move {
            let disposed = match disposing {
                Some(disposing) => disposing.await,
                None => Ok(()),
            };
            drop(self);
            disposed
        }
    }
}

impl Steerable for CustomRun {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        match &self.send {
            Some(send) => send(content).await,
            None => Err(SteerError::Settled),
        }
    }
}

impl Resumable for CustomRun {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        match &self.resume {
            Some(resume) => resume(content, settlement).await,
            None => Err(ResumeError::failed("the test says nothing of it")),
        }
    }
}
