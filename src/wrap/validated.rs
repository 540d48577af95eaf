use std::fmt;
use std::sync::Arc;

use crate::content::{ContentBlock, ContentKinds};
use crate::error::{DisposeError, ResumeError, StartError, SteerError};
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::result::Outcome;
use crate::run::{Present, Resumable, Run, Settlement, Steerable};
use crate::stop_reason::StopReason;

/// Checks what a completed child delivered; what the check rejects ends with [`StopReason::Error`].
///
/// - The check sees every outcome with [`StopReason::Completed`], of the run and of its follow-ups, before anyone
///   else does. Other outcomes pass by.
/// - A rejected outcome becomes an error whose diagnostic is `rejected: ` and the check's reason, which anyone may
///   see. It keeps its output, and loses its structured value: a value that was rejected must not be used as one.
/// - A check that panics ends the run with an error, too.
/// - It asks nothing of the child again: put a [`Retry`](super::Retry) around it, or resume the settled run and tell
///   the child what was wrong.
pub struct Validated<P, F> {
    inner: P,
    check: Arc<F>,
}

crate::supports!([F: Send] Validated<P, F> => P);

impl<P, F: Fn(&Outcome) -> Result<(), String> + Send + Sync + 'static> Validated<P, F> {
    /// Checks what the children of `inner` deliver; an `Err` says what was wrong.
    pub fn new(inner: P, check: F) -> Self {
        Self { inner, check: Arc::new(check) }
    }
}

impl<P, F> Validated<P, F> {
    /// The provider inside.
    pub fn inner(&self) -> &P {
        &self.inner
    }
}

#[deny(clippy::missing_trait_methods, reason = "a default method would bypass the provider inside")]
impl<P, F> Provider for Validated<P, F>
where
    P: Provider,
    F: Fn(&Outcome) -> Result<(), String> + Send + Sync + 'static,
{
    type Run = ValidatedRun<P::Run, F>;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
        let run = self.inner.start(request, checked(settlement, &self.check)).await?;
        Ok(ValidatedRun { run, check: Arc::clone(&self.check) })
    }

    fn content(&self) -> ContentKinds {
        self.inner.content()
    }

    fn sees_conversation(&self) -> bool {
        self.inner.sees_conversation()
    }
}

/// A run of [`Validated`]. It can be steered and resumed where the run inside can.
pub struct ValidatedRun<R, F> {
    run: R,
    check: Arc<F>,
}

impl<R, F> Run for ValidatedRun<R, F>
where
    R: Run,
    F: Fn(&Outcome) -> Result<(), String> + Send + Sync + 'static,
{
    type Steer = R::Steer;
    type Resume = R::Resume;

    async fn dispose(self) -> Result<(), DisposeError> {
        self.run.dispose().await
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, proof: R::Steer) -> Result<(), SteerError> {
        self.run.steer_with(content, proof).await
    }

    async fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        proof: R::Resume,
    ) -> Result<(), ResumeError> {
        self.run.resume_with(content, checked(settlement, &self.check), proof).await
    }
}

#[diagnostic::do_not_recommend]
impl<R, F> Steerable for ValidatedRun<R, F>
where
    R: Steerable,
    F: Fn(&Outcome) -> Result<(), String> + Send + Sync + 'static,
{
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.steer_with(content, Present).await
    }
}

#[diagnostic::do_not_recommend]
impl<R, F> Resumable for ValidatedRun<R, F>
where
    R: Resumable,
    F: Fn(&Outcome) -> Result<(), String> + Send + Sync + 'static,
{
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.resume_with(content, settlement, Present).await
    }
}

fn checked<F>(settlement: Settlement, check: &Arc<F>) -> Settlement
where
    F: Fn(&Outcome) -> Result<(), String> + Send + Sync + 'static,
{
    let check = Arc::clone(check);
    settlement.map(move |mut outcome| {
        if outcome.stop_reason.is_completed()
            && let Err(reason) = check(&outcome)
        {
            outcome.stop_reason = StopReason::Error;
            outcome.diagnostic = Some(format!("rejected: {reason}"));
            outcome.structured = None;
        }
        outcome
    })
}

impl<P: fmt::Debug, F> fmt::Debug for Validated<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validated").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl<R: fmt::Debug, F> fmt::Debug for ValidatedRun<R, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValidatedRun").field("run", &self.run).finish_non_exhaustive()
    }
}
