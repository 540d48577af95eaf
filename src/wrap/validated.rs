use std::fmt;
use std::sync::Arc;

use super::MappedRun;
use crate::content::ContentKinds;
use crate::error::StartError;
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::result::Outcome;
use crate::run::Settlement;
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
/// - A rule about a structured value alone needs no wrapper on an in-process provider: where the value's type holds
///   itself to it (`#[serde(try_from = "…")]`, for example), the child's own model is told what is wrong and goes on.
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
    type Run = MappedRun<P::Run>;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
        let check = Arc::clone(&self.check);
        MappedRun::start(&self.inner, request, settlement, move |outcome| checked(outcome, &*check)).await
    }

    fn content(&self) -> ContentKinds {
        self.inner.content()
    }
}

fn checked(mut outcome: Outcome, check: &impl Fn(&Outcome) -> Result<(), String>) -> Outcome {
    if outcome.stop_reason.is_completed()
        && let Err(reason) = check(&outcome)
    {
        outcome.stop_reason = StopReason::Error;
        outcome.diagnostic = Some(format!("rejected: {reason}"));
        outcome.structured = None;
    }
    outcome
}

impl<P: fmt::Debug, F> fmt::Debug for Validated<P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validated").field("inner", &self.inner).finish_non_exhaustive()
    }
}
