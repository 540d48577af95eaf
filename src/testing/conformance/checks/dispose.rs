use super::cancel::aborted;
use crate::error::chain;
use crate::stop_reason::StopReason;
use crate::testing::conformance::bench::{Bench, Door, staged};
use crate::testing::conformance::violation::{Checked, Stop, broken, ensure};
use crate::testing::conformance::{Behaviour, Fixture};

pub(crate) async fn dispose_returns_when_the_child_is_gone<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let right =
        "wait in `dispose` for the end of the task, of the process and its descendants, of the session";
    let states = [
        Behaviour::Waits,
        Behaviour::Completes,
        Behaviour::Streams,
        Behaviour::Fails,
        Behaviour::IgnoresCancel,
    ];
    for behaviour in states {
        let stage = match staged(fixture, behaviour) {
            Ok(stage) => stage,
            Err(Stop::Skip { .. }) => continue,
            Err(stop) => return Err(stop),
        };
        let bench = Bench::of(stage, fixture.patience())?;
        let live = bench.started::<D>(bench.request()).await?;
        if matches!(behaviour, Behaviour::Completes | Behaviour::Fails) {
            bench.in_time("a run that ends by itself", live.result()).await?.ok();
        }
        let disposed = bench.in_time("`dispose`", live.dispose()).await?;
        let live = bench.live();
        disposed.map_err(|error| broken(chain(&error), "the disposal of a child succeeds"))?;
        ensure(
            live == 0,
            || format!("{live} live children when `dispose` had returned ({behaviour})"),
            right,
        )?;
    }
    Ok(())
}

pub(crate) async fn a_disposed_live_run_is_aborted<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Waits)?;
    let live = bench.started::<D>(bench.request()).await?;
    let id = live.id();
    let control = bench.subagents.control(id);
    let disposed = bench.in_time("`dispose`", live.dispose()).await?;
    disposed.map_err(|error| broken(chain(&error), "the disposal of a child succeeds"))?;
    if let Some(control) = control {
        bench.in_time("a run that was disposed of", control.settled()).await?;
    }
    aborted(&bench.events.pair(id)?.stop_reason, &StopReason::Aborted)?;
    bench.shut_down("`dispose` of a live run").await
}

pub(crate) async fn result_and_disposal_do_not_hide_each_other<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let bench = Bench::open(fixture, Behaviour::FailsToDispose)?;
    let live = bench.started::<D>(bench.request()).await?;
    let id = live.id();
    let collected = bench.in_time("`collect`", live.collect()).await?;
    let text = collected.result.as_ref().map(|result| result.text().into_owned());
    let kept = text.as_deref() == Ok(Behaviour::FailsToDispose.text());
    ensure(
        kept && collected.disposal.is_err(),
        || format!("the result was {text:?} and the disposal {:?}", collected.disposal),
        "a disposal that fails is told beside the result, and neither hides the other",
    )?;
    bench.no_child("after a disposal that failed, staged as one that ends its child")?;
    bench.events.pair(id).map(drop)
}
