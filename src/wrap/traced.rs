use tracing::field::{Empty, display};
use tracing::{Instrument, Span};

use crate::content::{ContentBlock, ContentKinds};
use crate::error::{DisposeError, ResumeError, StartError, SteerError};
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::result::Outcome;
use crate::run::{Cancellation, Present, Resumable, Run, Settlement, Steerable};

/// Puts a [`tracing`] span around each run, from its start to its disposal.
///
/// The span is named `subagent.run`, at the level INFO, with the fields `run_id`, `provider`, `agent_type`, `depth`
/// and `resumed_from`. When the child has settled, `stop_reason` is recorded, and `diagnostic`, `input_tokens` and
/// `output_tokens` where they are known; when it did not start, `error`. Where the seam settles in the child's place,
/// `stop_reason` is what the cancellation makes of it, or `lost`. Prompts and outputs are not recorded.
///
/// The provider's `start`, messages, follow-ups and the disposal run inside of the span; so does the task of a
/// [`provider_fn`](crate::provider_fn) child.
#[derive(Debug, Clone)]
pub struct Traced<P> {
    inner: P,
}

crate::supports!(Traced<P> => P);

impl<P> Traced<P> {
    /// Traces the runs of `inner`.
    pub fn new(inner: P) -> Self {
        Self { inner }
    }

    /// The provider inside.
    pub fn inner(&self) -> &P {
        &self.inner
    }
}

#[deny(clippy::missing_trait_methods, reason = "a default method would bypass the provider inside")]
impl<P: Provider> Provider for Traced<P> {
    type Run = TracedRun<P::Run>;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
        let (span, settlement) = traced(settlement);
        let started = self.inner.start(request, settlement).instrument(span.clone()).await;
        match started {
            Ok(run) => Ok(TracedRun { run, span }),
            Err(error) => {
                span.record("error", display(&error));
                Err(error)
            }
        }
    }

    fn content(&self) -> ContentKinds {
        self.inner.content()
    }

    fn sees_conversation(&self) -> bool {
        self.inner.sees_conversation()
    }
}

/// A run of [`Traced`]. It can be steered and resumed where the run inside can.
#[derive(Debug)]
pub struct TracedRun<R> {
    run: R,
    span: Span,
}

impl<R: Run> Run for TracedRun<R> {
    type Steer = R::Steer;
    type Resume = R::Resume;

    async fn dispose(self) -> Result<(), DisposeError> {
        self.run.dispose().instrument(self.span).await
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, proof: R::Steer) -> Result<(), SteerError> {
        self.run.steer_with(content, proof).instrument(self.span.clone()).await
    }

    async fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        proof: R::Resume,
    ) -> Result<(), ResumeError> {
        let (span, settlement) = traced(settlement);
        let resumed = self.run.resume_with(content, settlement, proof).instrument(span.clone()).await;
        resumed.inspect_err(|error| {
            span.record("error", display(error));
        })
    }
}

#[diagnostic::do_not_recommend]
impl<R: Steerable> Steerable for TracedRun<R> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.steer_with(content, Present).await
    }
}

#[diagnostic::do_not_recommend]
impl<R: Resumable> Resumable for TracedRun<R> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.resume_with(content, settlement, Present).await
    }
}

/// The span of a run, and the settlement that records in it how the run ends.
fn traced(settlement: Settlement) -> (Span, Settlement) {
    let run = settlement.info();
    let span = tracing::info_span!(
        "subagent.run",
        run_id = %run.run_id,
        provider = &*run.provider,
        agent_type = run.agent_type.as_deref(),
        depth = run.depth,
        resumed_from = run.resumed_from.map(display),
        stop_reason = Empty,
        diagnostic = Empty,
        input_tokens = Empty,
        output_tokens = Empty,
        error = Empty,
    );
    let ending = Ending { span: Some(span.clone()), cancellation: settlement.cancellation() };
    (span, settlement.map(move |outcome| ending.record(outcome)))
}

/// Records once how a run ended, also where its child never settled.
struct Ending {
    span: Option<Span>,
    cancellation: Cancellation,
}

impl Ending {
    fn record(mut self, outcome: Outcome) -> Outcome {
        let Some(span) = self.span.take() else { return outcome };
        let cause = self.cancellation.cause().filter(|_| !outcome.stop_reason.is_completed());
        let stop_reason = cause.map_or_else(|| outcome.stop_reason.clone(), |cause| cause.stop_reason());
        span.record("stop_reason", stop_reason.as_str());
        if let Some(diagnostic) = &outcome.diagnostic {
            span.record("diagnostic", diagnostic.as_str());
        }
        let total = outcome.usage.total();
        if let Some(tokens) = total.iter().filter_map(|model| model.input_tokens).reduce(u64::saturating_add)
        {
            span.record("input_tokens", tokens);
        }
        if let Some(tokens) = total.iter().filter_map(|model| model.output_tokens).reduce(u64::saturating_add)
        {
            span.record("output_tokens", tokens);
        }
        outcome
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let Some(span) = self.span.take() else { return };
        let reason = self.cancellation.cause().map(|cause| cause.stop_reason());
        span.record("stop_reason", reason.as_ref().map_or("lost", |reason| reason.as_str()));
    }
}
