use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::attempts::{self, Plan, Question};
use super::{AttemptRun, EitherRun};
use crate::content::ContentKinds;
use crate::error::StartError;
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::result::Outcome;
use crate::run::Settlement;

/// Starts a child of `A`; where that does not start, or on request where it fails, one of `B`.
///
/// - `B`'s turn comes when `A`'s start fails with [`StartError::Failed`] or [`StartError::UnsupportedContent`], and
///   after those outcomes of `A` that [`when`](Self::when) names; without it, after none. `A`'s child is then
///   disposed of first, and nothing that it said becomes the output of `B`'s.
/// - It supports what both support: a request starts only where each of the two can honour it, and its runs can be
///   steered and resumed where those of both can.
/// - It is one run: one id, one pair of events, one result, with the usage of both children. Where `B`'s child does
///   not start after `A`'s failed, `A`'s outcome stands.
/// - A cancellation never brings `B`'s turn.
pub struct Fallback<A, B> {
    plan: Arc<Choice<A, B>>,
}

crate::supports!(Fallback<A, B> => A + B);

struct Choice<A, B> {
    first: Arc<A>,
    second: Arc<B>,
    when: Option<Question>,
}

impl<A, B> Fallback<A, B> {
    /// `first`, and `second` where `first` does not start.
    pub fn new(first: A, second: B) -> Self {
        Self { plan: Arc::new(Choice { first: Arc::new(first), second: Arc::new(second), when: None }) }
    }

    /// Says after which outcomes of the first child the second provider's turn comes, too.
    #[must_use]
    pub fn when(mut self, when: impl Fn(&Outcome) -> bool + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.plan).when = Some(Arc::new(when));
        self
    }
}

#[deny(clippy::missing_trait_methods, reason = "a default method would bypass the providers inside")]
impl<A: Provider, B: Provider> Provider for Fallback<A, B> {
    type Run = AttemptRun<EitherRun<A::Run, B::Run>>;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
        attempts::start(Arc::clone(&self.plan), request, settlement).await
    }

    fn content(&self) -> ContentKinds {
        self.plan.first.content().intersection(self.plan.second.content())
    }

    fn sees_conversation(&self) -> bool {
        self.plan.first.sees_conversation() && self.plan.second.sees_conversation()
    }
}

impl<A: Provider, B: Provider> Plan for Choice<A, B> {
    type Run = EitherRun<A::Run, B::Run>;

    async fn start(
        &self,
        attempt: u32,
        request: StartRequest,
        settlement: Settlement,
    ) -> Result<Self::Run, StartError> {
        if attempt == 1 {
            self.first.start(request, settlement).await.map(EitherRun::first)
        } else {
            self.second.start(request, settlement).await.map(EitherRun::second)
        }
    }

    fn attempts(&self) -> u32 {
        2
    }

    fn pause(&self) -> Duration {
        Duration::ZERO
    }

    fn again_after_error(&self, error: &StartError) -> bool {
        matches!(error, StartError::Failed { .. } | StartError::UnsupportedContent { .. })
    }

    fn again_after(&self, outcome: &Outcome) -> bool {
        self.when.as_ref().is_some_and(|when| when(outcome))
    }
}

impl<A, B> Clone for Choice<A, B> {
    fn clone(&self) -> Self {
        Self { first: Arc::clone(&self.first), second: Arc::clone(&self.second), when: self.when.clone() }
    }
}

impl<A: fmt::Debug, B: fmt::Debug> fmt::Debug for Fallback<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fallback")
            .field("first", &self.plan.first)
            .field("second", &self.plan.second)
            .finish_non_exhaustive()
    }
}
