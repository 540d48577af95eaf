use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use futures::StreamExt;
use futures::future::join_all;

use super::cancel::dispose;
use crate::id::RunId;
use crate::run::CancelCause;
use crate::stop_reason::StopReason;
use crate::sync::lock;
use crate::testing::conformance::bench::{Bench, Door, result};
use crate::testing::conformance::recorder::Recorder;
use crate::testing::conformance::violation::{Checked, ensure};
use crate::testing::conformance::{Behaviour, Fixture};

pub(crate) async fn a_completed_child_gives_what_it_said<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Completes)?;
    let live = bench.started::<D>(bench.request()).await?;
    let id = live.id();
    let completed = result(bench.in_time("a run that completes", live.result()).await?)?;
    let (reason, text) = (completed.stop_reason(), completed.text());
    ensure(
        completed.is_completed() && text == Behaviour::Completes.text(),
        || format!("it ended with `{reason}` and the text {text:?}"),
        "a child that finished its task is `Completed`, with its own last message",
    )?;
    dispose(&bench, live).await?;
    let ended = bench.events.pair(id)?;
    ensure(
        ended.output.as_ref() == Some(completed.output()) && ended.stop_reason == StopReason::Completed,
        || format!("`Ended` carried {:?}", ended.output),
        "`Ended` carries the result's output and stop reason",
    )
}

pub(crate) async fn usage_is_reported_as_declared<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Completes)?;
    let live = bench.started::<D>(bench.request()).await?;
    let id = live.id();
    let completed = result(bench.in_time("a run that completes", live.result()).await?)?;
    ensure(
        completed.usage().is_empty() != F::REPORTS_USAGE,
        || {
            format!(
                "the fixture says `REPORTS_USAGE = {}`, and the usage was {:?}",
                F::REPORTS_USAGE,
                completed.usage()
            )
        },
        "the usage is in the outcome exactly where the fixture says that it is reported",
    )?;
    dispose(&bench, live).await?;
    let ended = bench.events.pair(id)?;
    ensure(
        ended.usage == *completed.usage(),
        || format!("`Ended` carried {:?}", ended.usage),
        "`Ended` carries the result's usage",
    )
}

pub(crate) async fn a_failing_child_is_a_result<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    failure::<F, D>(fixture, Behaviour::Fails).await
}

pub(crate) async fn a_panicking_child_is_a_result<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    failure::<F, D>(fixture, Behaviour::Panics).await
}

async fn failure<F: Fixture, D: Door<F::Provider>>(fixture: &F, behaviour: Behaviour) -> Checked {
    let bench = Bench::open(fixture, behaviour)?;
    let live = bench.started::<D>(bench.request()).await?;
    let id = live.id();
    let failed = result(bench.in_time("a run whose child fails", live.result()).await?)?;
    let (reason, diagnostic) = (failed.stop_reason(), failed.diagnostic());
    ensure(
        *reason == StopReason::Error && diagnostic.is_some_and(|text| !text.trim().is_empty()),
        || format!("it ended with `{reason}` and the diagnostic {diagnostic:?}"),
        "a child that failed is `StopReason::Error` with a diagnostic that is safe to show",
    )?;
    dispose(&bench, live).await?;
    let ended = bench.events.pair(id)?;
    ensure(
        ended.stop_reason == StopReason::Error,
        || format!("`Ended` carried `{}`", ended.stop_reason),
        "`Ended` carries the result's stop reason",
    )?;
    bench.no_child("after a child that failed was disposed of")
}

pub(crate) async fn every_waiter_gets_the_result_after_ended<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Completes)?;
    let live = bench.started::<D>(bench.request()).await?;
    // Polled by hand, so that it shows what has been told at the very moment of the wake-up.
    let at_wake = Arc::new(AtWake { id: live.id(), events: bench.events.clone(), told: Mutex::default() });
    let waker = Waker::from(Arc::clone(&at_wake));
    let mut waiters: Vec<_> = (0..8).map(|_| Box::pin(live.result())).collect();
    waiters.retain_mut(|waiter| waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let result = bench.in_time("a run that completes", live.result()).await?;
    let woken = lock(&at_wake.told).clone();
    let others = bench.in_time("the other waiters", join_all(waiters)).await?;
    let (early, odd) = (
        woken.iter().filter(|told| !**told).count(),
        others.iter().filter(|other| **other != result).count(),
    );
    ensure(
        early == 0 && odd == 0,
        || format!("{early} waiters woke before `Ended` was told, and {odd} got another result"),
        "`Ended` reaches the listeners before any waiter wakes, and every waiter gets the same result",
    )?;
    dispose(&bench, live).await
}

/// Notes at each wake-up whether `Ended` has been told.
struct AtWake {
    id: RunId,
    events: Recorder,
    told: Mutex<Vec<bool>>,
}

impl Wake for AtWake {
    fn wake(self: Arc<Self>) {
        let told = self.events.ended(self.id).is_some();
        lock(&self.told).push(told);
    }
}

pub(crate) async fn a_settled_run_stays_as_it_is<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Completes)?;
    let live = bench.started::<D>(bench.request()).await?;
    let id = live.id();
    let first = bench.in_time("a run that completes", live.result()).await?;
    live.cancel("too late");
    let second = bench.in_time("a settled run", live.result()).await?;
    let settled = bench.in_time("a settled run", live.settle()).await?;
    let third = settled.result().cloned();
    ensure(
        first == second && second == third,
        || format!("the result was {first:?}, then {second:?}, then {third:?}"),
        "a run settles once; what comes later changes nothing",
    )?;
    bench.in_time("the disposal", settled.dispose()).await?.ok();
    bench.shut_down("a run that was cancelled too late").await?;
    bench.events.pair(id).map(drop)
}

pub(crate) async fn a_child_may_settle_inside_start<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let bench = Bench::open(fixture, Behaviour::SettlesInStart)?;
    let live = bench.started::<D>(bench.request()).await?;
    let id = live.id();
    let completed = result(bench.in_time("a run that settled inside `start`", live.result()).await?)?;
    let (reason, text) = (completed.stop_reason(), completed.text());
    ensure(
        completed.is_completed() && text == Behaviour::SettlesInStart.text(),
        || format!("it ended with `{reason}` and the text {text:?}"),
        "what the child settled with before `start` returned is the result",
    )?;
    dispose(&bench, live).await?;
    bench.events.pair(id).map(drop)
}

pub(crate) async fn updates_end_with_the_run<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    for behaviour in [Behaviour::Completes, Behaviour::Waits] {
        let bench = Bench::open(fixture, behaviour)?;
        let live = bench.started::<D>(bench.request()).await?;
        let updates = live.updates();
        let disposed = if behaviour == Behaviour::Waits {
            dispose(&bench, live).await
        } else {
            bench.in_time("a run that completes", live.result()).await?.ok();
            dispose(&bench, live).await
        };
        bench.in_time("the stream of updates", updates.collect::<Vec<_>>()).await?;
        disposed?;
    }
    Ok(())
}

pub(crate) async fn shutdown_cancels_and_waits<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Waits)?;
    let held = bench.started::<D>(bench.request()).await?;
    drop(bench.started::<D>(bench.request()).await?);
    bench.in_time("`Subagents::shutdown`", bench.subagents.shutdown()).await?;
    let cause = held.cancellation().cause();
    ensure(
        cause == Some(CancelCause::Shutdown) && bench.events.ended(held.id()).is_some(),
        || format!("after the shutdown a run was cancelled by {cause:?}"),
        "a shutdown cancels every live run and waits for it to settle",
    )?;
    dispose(&bench, held).await?;
    bench.no_child("after a shutdown and the disposal of the run that was held")?;
    bench.events.all_pairs()
}
