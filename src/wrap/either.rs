use futures::future::BoxFuture;

use crate::content::ContentBlock;
use crate::error::{DisposeError, ResumeError, SteerError};
use crate::run::{Presence, Present, Resumable, Run, Settlement, Steerable};

/// A run of one of two providers. It can be steered and resumed where the runs of both can.
#[derive(Debug)]
pub struct EitherRun<A, B>(Either<A, B>);

#[derive(Debug)]
enum Either<A, B> {
    First(A),
    Second(B),
}

impl<A, B> EitherRun<A, B> {
    pub(super) fn first(run: A) -> Self {
        Self(Either::First(run))
    }

    pub(super) fn second(run: B) -> Self {
        Self(Either::Second(run))
    }
}

impl<A: Run, B: Run> Run for EitherRun<A, B> {
    type Steer = <A::Steer as Presence>::And<B::Steer>;
    type Resume = <A::Resume as Presence>::And<B::Resume>;

    async fn dispose(self) -> Result<(), DisposeError> {
        match self.0 {
            Either::First(run) => run.dispose().await,
            Either::Second(run) => run.dispose().await,
        }
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, _proof: Self::Steer) -> Result<(), SteerError> {
        match &self.0 {
            Either::First(run) => steer(run, content).await,
            Either::Second(run) => steer(run, content).await,
        }
    }

    async fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        _proof: Self::Resume,
    ) -> Result<(), ResumeError> {
        match &self.0 {
            Either::First(run) => resume(run, content, settlement).await,
            Either::Second(run) => resume(run, content, settlement).await,
        }
    }

    fn dispose_boxed(self) -> BoxFuture<'static, Result<(), DisposeError>> {
        match self.0 {
            Either::First(run) => run.dispose_boxed(),
            Either::Second(run) => run.dispose_boxed(),
        }
    }
}

#[diagnostic::do_not_recommend]
impl<A: Steerable, B: Steerable> Steerable for EitherRun<A, B> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.steer_with(content, Present).await
    }
}

#[diagnostic::do_not_recommend]
impl<A: Resumable, B: Resumable> Resumable for EitherRun<A, B> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.resume_with(content, settlement, Present).await
    }
}

async fn steer<R: Run>(run: &R, content: Vec<ContentBlock>) -> Result<(), SteerError> {
    match R::Steer::proof() {
        Some(proof) => run.steer_with(content, proof).await,
        // Not reached: where both can be steered, each can.
        None => Err(SteerError::Settled),
    }
}

async fn resume<R: Run>(
    run: &R,
    content: Vec<ContentBlock>,
    settlement: Settlement,
) -> Result<(), ResumeError> {
    match R::Resume::proof() {
        Some(proof) => run.resume_with(content, settlement, proof).await,
        // Not reached: where both can be resumed, each can.
        None => Err(ResumeError::failed("the run cannot be resumed")),
    }
}
