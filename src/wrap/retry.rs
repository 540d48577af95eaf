use std::fmt;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::AttemptRun;
use super::attempts::{self, Plan, Question};
use crate::content::ContentKinds;
use crate::error::StartError;
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::result::Outcome;
use crate::run::Settlement;
use crate::stop_reason::StopReason;

/// Tries again when a child does not start or fails.
///
/// - **What is tried again**: a start that failed with [`StartError::Failed`], and a child that ended with
///   [`StopReason::Error`], unless [`when`](Self::when) says otherwise. Not a refused request, not a panic in
///   `start`, not a fault of the provider.
/// - **How often**: there are at most `attempts` children, the first one included.
/// - **Each begins anew**, with the request as it came. The failed child is disposed of before the next one starts,
///   and nothing that it said becomes the output of the next. Watchers of the run's updates see both, and between
///   them an [`Update::Other`](crate::Update::Other) of the kind `subagent/attempt`.
/// - **One run**: one id, one pair of events, one result: that of the last child. Its usage is that of all of them.
///   Where no other child starts, the failed one's outcome stands.
/// - **A cancellation is never tried again**: whether it comes while a child works, between two, or in a start. Nor
///   is a run that is disposed of.
///
/// ```
/// use std::num::NonZeroU32;
/// use std::time::Duration;
/// use subagent::wrap::Retry;
/// # let provider = subagent::provider_fn(async |_context| "done");
///
/// let provider = Retry::new(provider, NonZeroU32::MIN.saturating_add(2)).pause(Duration::from_secs(1));
/// ```
pub struct Retry<P> {
    plan: Arc<Retries<P>>,
}

crate::supports!(Retry<P> => P);

struct Retries<P> {
    inner: Arc<P>,
    attempts: NonZeroU32,
    pause: Duration,
    when: Question,
}

impl<P> Retry<P> {
    /// Tries `inner` at most this many times, without a pause.
    pub fn new(inner: P, attempts: NonZeroU32) -> Self {
        Self {
            plan: Arc::new(Retries {
                inner: Arc::new(inner),
                attempts,
                pause: Duration::ZERO,
                when: Arc::new(|outcome| outcome.stop_reason == StopReason::Error),
            }),
        }
    }

    /// Waits this long before each further attempt.
    #[must_use]
    pub fn pause(self, pause: Duration) -> Self {
        self.change(|plan| plan.pause = pause)
    }

    /// Says after which outcomes to try again, instead of after [`StopReason::Error`].
    #[must_use]
    pub fn when(self, when: impl Fn(&Outcome) -> bool + Send + Sync + 'static) -> Self {
        self.change(|plan| plan.when = Arc::new(when))
    }

    /// The provider inside.
    #[must_use]
    pub fn inner(&self) -> &P {
        &self.plan.inner
    }

    fn change(mut self, change: impl FnOnce(&mut Retries<P>)) -> Self {
        change(Arc::make_mut(&mut self.plan));
        self
    }
}

#[deny(clippy::missing_trait_methods, reason = "a default method would bypass the provider inside")]
impl<P: Provider> Provider for Retry<P> {
    type Run = AttemptRun<P::Run>;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
        attempts::start(Arc::clone(&self.plan), request, settlement).await
    }

    fn content(&self) -> ContentKinds {
        self.plan.inner.content()
    }

    fn sees_conversation(&self) -> bool {
        self.plan.inner.sees_conversation()
    }
}

impl<P: Provider> Plan for Retries<P> {
    type Run = P::Run;

    async fn start(
        &self,
        _attempt: u32,
        request: StartRequest,
        settlement: Settlement,
    ) -> Result<P::Run, StartError> {
        self.inner.start(request, settlement).await
    }

    fn attempts(&self) -> u32 {
        self.attempts.get()
    }

    fn pause(&self) -> Duration {
        self.pause
    }

    fn again_after_error(&self, error: &StartError) -> bool {
        matches!(error, StartError::Failed { .. })
    }

    fn again_after(&self, outcome: &Outcome) -> bool {
        (self.when)(outcome)
    }
}

impl<P> Clone for Retries<P> {
    fn clone(&self) -> Self {
        Self {
            inner: Arc::clone(&self.inner),
            attempts: self.attempts,
            pause: self.pause,
            when: Arc::clone(&self.when),
        }
    }
}

impl<P: fmt::Debug> fmt::Debug for Retry<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("inner", &self.plan.inner)
            .field("attempts", &self.plan.attempts)
            .field("pause", &self.plan.pause)
            .finish_non_exhaustive()
    }
}
