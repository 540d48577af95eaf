use super::cancel::{aborted, dispose};
use crate::capability::NoOutput;
use crate::error::{Refused, ResumeError, chain};
use crate::provider::Provider;
use crate::run::{CancelCause, FollowUp, Run, Settled};
use crate::stop_reason::StopReason;
use crate::testing::conformance::bench::{Bench, ByName, Door, Typed, result};
use crate::testing::conformance::probe::ResumeRun;
use crate::testing::conformance::violation::{Checked, broken, ensure};
use crate::testing::conformance::{Behaviour, Fixture};
use tokio_util::sync::CancellationToken;

/// Settles a run that was started through the door and hands it, with its `resume`, to a check.
macro_rules! resumed {
    ($fixture:expr, $door:ty, $check:ident) => {{
        let Some(resuming) = $fixture.resuming() else { return Ok(()) };
        let bench = Bench::open($fixture, Behaviour::FollowsUp)?;
        if <$door as Door<F::Provider>>::BY_NAME {
            let live = bench.started::<ByName>(bench.request()).await?;
            let settled = bench.in_time("the first turn", live.settle()).await?;
            let Ok(settled) = settled.into_resumable() else {
                return Err(broken(
                    "the erased run did not narrow",
                    "an erased run narrows to what its type has",
                ));
            };
            $check(&bench, settled, |settled, follow_up| settled.resume(follow_up)).await
        } else {
            let live = bench.started::<Typed>(bench.request()).await?;
            let settled = bench.in_time("the first turn", live.settle()).await?;
            $check(&bench, settled, resuming.resume).await
        }
    }};
}

pub(crate) async fn a_resumed_run_is_a_new_run<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    resumed!(fixture, D, is_a_new_run)
}

async fn is_a_new_run<P: Provider, R: Run>(
    bench: &Bench<P>,
    settled: Settled<R, NoOutput>,
    resume: ResumeRun<R>,
) -> Checked {
    let seen = bench.seen("`Behaviour::FollowsUp`")?;
    let first = settled.id();
    says(&settled, Behaviour::FollowsUp.text())?;
    let request = "conformance follow-up";
    let resumed = bench.in_time("the resumption", resume(settled, request.into())).await?;
    let live = resumed.map_err(|Refused { error, .. }| {
        broken(
            format!("the run was not resumed: {}", chain(&error)),
            "a run of this type resumes once it has settled",
        )
    })?;
    let second = live.id();
    ensure(
        second != first && live.resumed_from() == Some(first),
        || format!("run {first} was resumed as {second}, from {:?}", live.resumed_from()),
        "a resumed run has a new id, and `resumed_from` names the one before",
    )?;
    let settled = bench.in_time("the follow-up", live.settle()).await?;
    says(&settled, Behaviour::FollowsUp.follow_up_text())?;
    let told = seen().iter().flatten().filter(|block| block.as_text() == Some(request)).count();
    ensure(
        told == 1,
        || format!("the child saw the follow-up {told} times"),
        "the child sees the follow-up once",
    )?;
    let disposed = bench.in_time("the disposal", settled.dispose()).await?;
    disposed.map_err(|error| broken(chain(&error), "a resumed run is disposed of as any other"))?;
    bench.no_child("after a resumed run was disposed of")?;
    bench.events.pair(first)?;
    let named = bench.events.pair(second)?.run;
    ensure(
        named.resumed_from == Some(first) && named.agent_type.as_deref() == Some("conformance"),
        || format!("`Ended` spoke of {named:?}"),
        "the events of a resumed run name the run before and the agent type of the first request",
    )
}

fn says<R: Run>(settled: &Settled<R, NoOutput>, expected: &str) -> Checked {
    let outcome = result(settled.result().cloned())?;
    let (reason, text) = (outcome.stop_reason(), outcome.text());
    ensure(
        *reason == StopReason::Completed && text == expected,
        || format!("a turn ended with `{reason}` and the text {text:?}"),
        &format!("the turn completes with {expected:?}, its own last message"),
    )
}

pub(crate) async fn a_refused_resumption_leaves_the_run_settled<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    resumed!(fixture, D, stays_settled)
}

async fn stays_settled<P: Provider, R: Run>(
    bench: &Bench<P>,
    settled: Settled<R, NoOutput>,
    resume: ResumeRun<R>,
) -> Checked {
    let events = bench.events.count();
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    let follow_up = FollowUp::new("never mind").cancellation(cancelled);
    let resumed = bench.in_time("the resumption", resume(settled, follow_up)).await?;
    let settled = match resumed {
        Err(Refused { error: ResumeError::Cancelled { cause: CancelCause::Token, .. }, value }) => value,
        Err(Refused { error, .. }) => return Err(broken(chain(&error), "`ResumeError::Cancelled`")),
        Ok(live) => {
            drop(live);
            return Err(broken(
                "a cancelled token resumed a run",
                "a token that is cancelled already resumes nothing",
            ));
        }
    };
    ensure(
        bench.events.count() == events,
        || "events were sent for a follow-up that did not begin".to_owned(),
        "a resumption that fails sends no event",
    )?;
    says(&settled, Behaviour::FollowsUp.text())?;
    let disposed = bench.in_time("the disposal", settled.dispose()).await?;
    disposed
        .map_err(|error| broken(chain(&error), "a run that was not resumed is disposed of as any other"))?;
    bench.shut_down("a resumption that was refused").await
}

pub(crate) async fn a_resumed_run_can_be_dropped_and_disposed<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    resumed!(fixture, D, leaves_nothing_when_dropped)?;
    resumed!(fixture, D, leaves_nothing_when_dropped_half_way)?;
    resumed!(fixture, D, leaves_nothing_when_disposed)
}

async fn leaves_nothing_when_dropped<P: Provider, R: Run>(
    bench: &Bench<P>,
    settled: Settled<R, NoOutput>,
    resume: ResumeRun<R>,
) -> Checked {
    drop(resume(settled, "never mind".into()));
    bench.shut_down("the drop of a resumption before its first poll").await
}

async fn leaves_nothing_when_dropped_half_way<P: Provider, R: Run>(
    bench: &Bench<P>,
    settled: Settled<R, NoOutput>,
    resume: ResumeRun<R>,
) -> Checked {
    let mut resumption = resume(settled, "never mind".into());
    let polled = futures::poll!(&mut resumption);
    drop((polled, resumption));
    bench.shut_down("the drop of a resumption half way").await
}

async fn leaves_nothing_when_disposed<P: Provider, R: Run>(
    bench: &Bench<P>,
    settled: Settled<R, NoOutput>,
    resume: ResumeRun<R>,
) -> Checked {
    let resumed = bench.in_time("the resumption", resume(settled, "never mind".into())).await?;
    let live = resumed.map_err(|Refused { error, .. }| broken(chain(&error), "a settled run resumes"))?;
    let id = live.id();
    dispose(bench, live).await?;
    bench.no_child("after a resumed run was disposed of at once")?;
    let reason = bench.events.pair(id)?.stop_reason;
    if reason == StopReason::Completed { Ok(()) } else { aborted(&reason, &StopReason::Aborted) }
}
