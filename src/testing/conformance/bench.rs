//! What one check works on: a fresh `Subagents` with one staged provider, and a listener.

use std::future::Future;
use std::time::Duration;

use super::Behaviour;
use super::fixture::{Fixture, LiveChildren, Seen, Staged};
use super::recorder::Recorder;
use super::violation::{Checked, Stop, broken, ensure};
use crate::capability::{CapabilitySet, NoOutput, SatisfiedBy};
use crate::erased::AnyRun;
use crate::error::{RunFault, StartError, chain};
use crate::parent::Parent;
use crate::provider::Provider;
use crate::registry::{Registration, Subagents, Subscription};
use crate::request::{Prompt, Request};
use crate::result::SubagentResult;
use crate::run::{Live, Run, Start};

/// The name that the provider is registered under.
pub(super) const NAME: &str = "under-test";

pub(super) struct Bench<P: Provider> {
    pub(super) subagents: Subagents,
    pub(super) registration: Registration<P>,
    pub(super) events: Recorder,
    pub(super) patience: Duration,
    pub(super) live_children: LiveChildren,
    pub(super) parent: Parent,
    prompt: Prompt,
    seen: Option<Seen>,
    _subscription: Subscription,
}

impl<P: Provider> Bench<P> {
    /// A bench whose grace is short beside the patience.
    pub(super) fn open<F: Fixture<Provider = P>>(fixture: &F, behaviour: Behaviour) -> Checked<Self> {
        Self::of(staged(fixture, behaviour)?, fixture.patience())
    }

    pub(super) fn of(staged: Staged<P>, patience: Duration) -> Checked<Self> {
        Self::with_grace(staged, patience, short(patience))
    }

    pub(super) fn with_grace(staged: Staged<P>, patience: Duration, grace: Duration) -> Checked<Self> {
        let subagents = Subagents::builder().cancel_grace(grace).build();
        let events = Recorder::default();
        let recorder = events.clone();
        let subscription = subagents.subscribe(move |event| recorder.record(event));
        let Staged { provider, prompt, parent, live_children, seen } = staged;
        let registration = subagents
            .register(NAME, provider)
            .map_err(|error| broken(chain(&error), "the provider registers"))?;
        Ok(Self {
            subagents,
            registration,
            events,
            patience,
            live_children,
            parent,
            prompt,
            seen,
            _subscription: subscription,
        })
    }

    pub(super) fn request(&self) -> Request {
        Request::new(self.prompt.clone()).agent_type("conformance").parent(&self.parent)
    }

    /// A request with this content instead of the staged prompt.
    pub(super) fn request_of(&self, prompt: impl Into<Prompt>) -> Request {
        Request::new(prompt).parent(&self.parent)
    }

    /// Starts a run that has to start.
    pub(super) async fn started<D: Door<P>>(&self, request: Request) -> Checked<Live<D::Run, NoOutput>> {
        let started = self.in_time("the start", D::start(self, request)).await?;
        started.map_err(|error| not_started(&error))
    }

    pub(super) async fn in_time<T>(&self, what: &str, future: impl Future<Output = T>) -> Checked<T> {
        in_time(self.patience, what, future).await
    }

    pub(super) fn live(&self) -> usize {
        (self.live_children)()
    }

    /// Waits for the end of children that end by themselves.
    pub(super) async fn children_end(&self) {
        let gone = async {
            while self.live() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(self.patience, gone).await.ok();
    }

    /// What the children have seen.
    pub(super) fn seen(&self, behaviour: &str) -> Checked<Seen> {
        self.seen.clone().ok_or_else(|| {
            broken(
                format!("the provider that is staged for {behaviour} does not tell what its children see"),
                "say it with `Staged::sees`",
            )
        })
    }

    pub(super) fn no_child(&self, when: &str) -> Checked {
        let live = self.live();
        ensure(
            live == 0,
            || format!("{live} live children {when}"),
            "no task, process or session of a child is left by then",
        )
    }

    /// Checks that a start that failed left no trace.
    pub(super) fn no_trace(&self, when: &str) -> Checked {
        self.no_child(when)?;
        let (events, runs) = (self.events.count(), self.subagents.runs().len());
        ensure(
            events == 0 && runs == 0,
            || format!("{events} events and {runs} listed runs {when}"),
            "a start that fails sends no event and leaves no run",
        )
    }

    /// Shuts down, and checks that this has waited for every child and that every run has its events.
    pub(super) async fn shut_down(&self, when: &str) -> Checked {
        self.in_time("`Subagents::shutdown`", self.subagents.shutdown()).await?;
        self.no_child(&format!("after {when} and `Subagents::shutdown`"))?;
        self.events.all_pairs()
    }
}

/// How a run is started: through the typed handle, or by name.
pub(super) trait Door<P: Provider> {
    type Run: Run;
    const BY_NAME: bool;

    fn start<C>(bench: &Bench<P>, request: Request<C>) -> Start<Self::Run, C::Output>
    where
        C: CapabilitySet + SatisfiedBy<P>;
}

pub(super) struct Typed;
pub(super) struct ByName;

impl<P: Provider> Door<P> for Typed {
    type Run = P::Run;
    const BY_NAME: bool = false;

    fn start<C>(bench: &Bench<P>, request: Request<C>) -> Start<P::Run, C::Output>
    where
        C: CapabilitySet + SatisfiedBy<P>,
    {
        bench.registration.start(request)
    }
}

impl<P: Provider> Door<P> for ByName {
    type Run = AnyRun;
    const BY_NAME: bool = true;

    fn start<C>(bench: &Bench<P>, request: Request<C>) -> Start<AnyRun, C::Output>
    where
        C: CapabilitySet + SatisfiedBy<P>,
    {
        bench.subagents.start(NAME, request)
    }
}

/// Which door a probe goes through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DoorKind {
    Typed,
    ByName,
    /// By name, with a request that was written to JSON and read again.
    Json,
}

/// The provider that shows this, or the reason why there is none.
pub(super) fn staged<F: Fixture>(fixture: &F, behaviour: Behaviour) -> Checked<Staged<F::Provider>> {
    if let Some(staged) = fixture.stage(behaviour) {
        return Ok(staged);
    }
    let declared = fixture.cannot_show().into_iter().find(|(declared, _)| *declared == behaviour);
    match declared {
        Some((_, reason)) if !behaviour.is_required() => Err(Stop::Skip { behaviour, reason }),
        _ => Err(broken(
            format!("the fixture stages no provider for {behaviour}"),
            if behaviour.is_required() {
                "every provider can show it: stage it"
            } else {
                "stage it, or say in `Fixture::cannot_show` why that is not possible"
            },
        )),
    }
}

/// A time that is short beside the patience.
pub(super) fn short(patience: Duration) -> Duration {
    patience / 20
}

pub(super) async fn in_time<T>(
    patience: Duration,
    what: &str,
    future: impl Future<Output = T>,
) -> Checked<T> {
    tokio::time::timeout(patience, future).await.map_err(|_| {
        broken(
            format!("{what} was not over after {patience:?}"),
            "it comes to an end by itself, well within that time",
        )
    })
}

pub(super) fn not_started(error: &StartError) -> Stop {
    broken(format!("the run did not start: {}", chain(error)), "the staged provider starts a child")
}

/// A result that has to be there.
pub(super) fn result<O>(result: Result<SubagentResult<O>, RunFault>) -> Checked<SubagentResult<O>> {
    result.map_err(|fault| {
        broken(
            format!("there was no result: {}", chain(&fault)),
            "settle on every path: a child's own failure is an `Outcome` with a stop reason",
        )
    })
}
