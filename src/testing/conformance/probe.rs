use std::fmt;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::bench::{Bench, ByName, Door, DoorKind, NAME, Typed, in_time};
use super::fixture::{Honours, Probed};
use super::violation::{Checked, broken};
use crate::capability::{CapabilitySet, NoOutput, SatisfiedBy, Unchecked};
use crate::erased::AnyRun;
use crate::error::{Refused, RunFault, StartError, chain};
use crate::provider::Provider;
use crate::request::{Prompt, Request};
use crate::result::{Outcome, SubagentResult};
use crate::run::{FollowUp, Live, Resumable, Resume, Run, Settled, Steer, Steerable};

/// Shows that a provider honours one start-time capability.
///
/// ```
/// use std::num::NonZeroU32;
/// use subagent::testing::conformance::{Staged, StartProbe};
/// use subagent::testing::ScriptedProvider;
///
/// let probe = StartProbe::new(
///     |request| request.max_steps(NonZeroU32::MIN),
///     || {
///         let provider = ScriptedProvider::replying("done");
///         let (log, live) = (provider.log(), provider.log());
///         Staged::new(provider, move || live.live_children()).honours(move |_outcome| {
///             let limits = log.requests().pop().map(|request| request.capabilities);
///             match limits.and_then(|mut limits| limits.remove("step-limit")) {
///                 Some(limit) if limit == 1 => Ok(()),
///                 other => Err(format!("the child was limited to {other:?} steps")),
///             }
///         })
///     },
/// );
/// # let _: StartProbe<ScriptedProvider> = probe;
/// ```
pub struct StartProbe<P: Provider> {
    capabilities: Vec<&'static str>,
    begin: Box<Begin<P>>,
}

type Begin<P> = dyn Fn(DoorKind, Duration) -> BoxFuture<'static, Checked<Begun<P>>> + Send + Sync;

/// A run of a probe, if it started.
pub(super) struct Begun<P: Provider> {
    pub(super) bench: Bench<P>,
    pub(super) started: Result<Going, StartError>,
}

/// What a probe's run shows, once it is over.
pub(super) type Going = BoxFuture<'static, Checked<Honoured>>;

/// Whether the capability was honoured: by the run, and by a follow-up where the run can be resumed.
pub(super) struct Honoured {
    pub(super) first: Result<(), String>,
    pub(super) follow_up: Option<Result<(), String>>,
}

impl<P: Provider> StartProbe<P> {
    /// `ask` asks for the capability, and for nothing else; `stage` makes a provider that shows whether it is
    /// honoured. A probe for a capability that the provider does not declare does not compile.
    pub fn new<C>(
        ask: impl Fn(Request) -> Request<C> + Send + Sync + 'static,
        stage: impl Fn() -> Probed<P> + Send + Sync + 'static,
    ) -> Self
    where
        C: CapabilitySet + SatisfiedBy<P>,
    {
        let capabilities = std::iter::successors(C::NAMES, |list| list.rest).map(|list| list.name).collect();
        let begin = move |door, patience| {
            let Probed { staged, honours } = stage();
            let request = ask(Request::new(staged.prompt.clone()).parent(&staged.parent));
            async move {
                let bench = Bench::of(staged, patience)?;
                let started = start(&bench, door, request, honours).await?;
                Ok(Begun { bench, started })
            }
            .boxed()
        };
        Self { capabilities, begin: Box::new(begin) }
    }

    /// The name of the capability; `None` where the probe asks for none or for several.
    pub(super) fn capability(&self) -> Option<&'static str> {
        match self.capabilities.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }

    pub(super) async fn begin(&self, door: DoorKind, patience: Duration) -> Checked<Begun<P>> {
        (self.begin)(door, patience).await
    }
}

impl<P: Provider> fmt::Debug for StartProbe<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartProbe").field("capabilities", &self.capabilities).finish_non_exhaustive()
    }
}

async fn start<P: Provider, C: CapabilitySet + SatisfiedBy<P>>(
    bench: &Bench<P>,
    door: DoorKind,
    request: Request<C>,
    honours: Honours,
) -> Checked<Result<Going, StartError>> {
    let patience = bench.patience;
    Ok(match door {
        DoorKind::Typed => {
            let started = bench.in_time("the start", Typed::start(bench, request)).await?;
            started.map(|live| go_on(live.erase(), honours, patience).boxed())
        }
        DoorKind::ByName => {
            let started = bench.in_time("the start", ByName::start(bench, request)).await?;
            started.map(|live| go_on(live, honours, patience).boxed())
        }
        DoorKind::Json => {
            let right = "a capability's value must survive being written to JSON and read again";
            let json = serde_json::to_string(&request).map_err(|error| broken(chain(&error), right))?;
            let read: Request<Unchecked> =
                serde_json::from_str(&json).map_err(|error| broken(chain(&error), right))?;
            let started =
                bench.in_time("the start", bench.subagents.start(NAME, read.parent(&bench.parent))).await?;
            started.map(|live| go_on(live, honours, patience).boxed())
        }
    })
}

async fn go_on<O: 'static>(live: Live<AnyRun, O>, honours: Honours, patience: Duration) -> Checked<Honoured> {
    let look = |settled: Result<Outcome, String>| settled.and_then(|outcome| honours(&outcome));
    let settled = in_time(patience, "the probe's run", live.settle()).await?;
    let first = look(outcome(settled.result()));
    let follow_up = match settled.into_resumable() {
        Ok(settled) if first.is_ok() => {
            let resumed =
                in_time(patience, "the resumption", settled.resume("Do the same once more.")).await?;
            let live = resumed.map_err(|Refused { error, .. }| {
                broken(format!("the probe's run was not resumed: {}", chain(&error)), "a settled run resumes")
            })?;
            let settled = in_time(patience, "the follow-up of the probe", live.settle()).await?;
            let second = look(outcome(settled.result()));
            dispose(patience, settled).await?;
            Some(second)
        }
        Ok(settled) => {
            dispose(patience, settled).await?;
            None
        }
        Err(settled) => {
            dispose(patience, settled).await?;
            None
        }
    };
    Ok(Honoured { first, follow_up })
}

async fn dispose<R: Run, O>(patience: Duration, settled: Settled<R, O>) -> Checked {
    let disposed = in_time(patience, "the disposal", settled.dispose()).await?;
    disposed.map_err(|error| broken(chain(&error), "the child of a probe is disposed of without an error"))
}

fn outcome<O>(result: Result<&SubagentResult<O>, RunFault>) -> Result<Outcome, String> {
    result.map(|result| result.clone().into_outcome()).map_err(|fault| fault.to_string())
}

/// Shows that messages reach the children of a provider whose runs can be steered.
pub struct Steering<P: Provider> {
    pub(super) send: SendMessage<P::Run>,
}

pub(super) type SendMessage<R> = for<'a> fn(&'a Live<R, NoOutput>, Prompt) -> Steer<'a>;

impl<P: Provider<Run: Steerable>> Steering<P> {
    /// The probe. The provider is staged as one whose child [`Receives`](super::Behaviour::Receives).
    #[must_use]
    pub fn probe() -> Self {
        Self { send: |live, message| live.send_message(message) }
    }
}

impl<P: Provider> fmt::Debug for Steering<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Steering")
    }
}

/// Shows that the runs of a provider can be resumed.
pub struct Resuming<P: Provider> {
    pub(super) resume: ResumeRun<P::Run>,
}

pub(super) type ResumeRun<R> = fn(Settled<R, NoOutput>, FollowUp) -> Resume<R, NoOutput>;

impl<P: Provider<Run: Resumable>> Resuming<P> {
    /// The probe. The provider is staged as one whose child [`FollowsUp`](super::Behaviour::FollowsUp).
    #[must_use]
    pub fn probe() -> Self {
        Self { resume: |settled, follow_up| settled.resume(follow_up) }
    }
}

impl<P: Provider> fmt::Debug for Resuming<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resuming")
    }
}
