//! A wrapper that forwards everything, as another crate writes one: it has what the provider inside has.

use subagent::{
    ContentBlock, ContentKinds, DisposeError, Provider, Resumable, ResumeError, Run, Settlement, StartError,
    StartRequest, SteerError, Steerable,
};

use crate::scripted::Everything;

pub(crate) struct Forwarding<P>(pub(crate) P);

subagent::supports!(Forwarding<P> => P);

impl<P: Provider> Provider for Forwarding<P> {
    type Run = ForwardingRun<P::Run>;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
        self.0.start(request, settlement).await.map(ForwardingRun)
    }

    fn content(&self) -> ContentKinds {
        self.0.content()
    }

    fn sees_conversation(&self) -> bool {
        self.0.sees_conversation()
    }
}

pub(crate) struct ForwardingRun<R>(R);

impl<R: Run> Run for ForwardingRun<R> {
    type Steer = R::Steer;
    type Resume = R::Resume;

    async fn dispose(self) -> Result<(), DisposeError> {
        self.0.dispose().await
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, proof: R::Steer) -> Result<(), SteerError> {
        self.0.steer_with(content, proof).await
    }

    async fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        proof: R::Resume,
    ) -> Result<(), ResumeError> {
        self.0.resume_with(content, settlement, proof).await
    }
}

impl<R: Steerable> Steerable for ForwardingRun<R> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.0.send_message(content).await
    }
}

impl<R: Resumable> Resumable for ForwardingRun<R> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.0.resume(content, settlement).await
    }
}

subagent::conformance!(
    #[tokio::test(start_paused = true)]
    a_forwarding_wrapper,
    Everything(Forwarding)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    two_forwarding_wrappers,
    Everything(|scripted| Forwarding(Forwarding(scripted)))
);
