use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use super::cancel::aborted;
use crate::error::chain;
use crate::stop_reason::StopReason;
use crate::testing::conformance::bench::{Bench, Door, staged};
use crate::testing::conformance::violation::{Checked, Stop, broken, ensure};
use crate::testing::conformance::{Behaviour, Fixture};

/// At how many points a future is dropped.
const POINTS: usize = 6;

/// Polls the future until it has been pending so many times, or is not woken any more, and drops it then.
async fn leave_after<T>(
    points: usize,
    patience: Duration,
    future: impl Future<Output = T> + Send,
) -> Option<T> {
    let mut future = pin!(future);
    let mut pending = 0;
    let polled = std::future::poll_fn(|context| {
        if pending == points {
            return Poll::Ready(None);
        }
        match future.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending => {
                pending += 1;
                if pending == points { Poll::Ready(None) } else { Poll::Pending }
            }
        }
    });
    tokio::time::timeout(patience / 40, polled).await.ok().flatten()
}

pub(crate) async fn a_start_dropped_half_way_leaves_no_child<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    for behaviour in [Behaviour::Waits, Behaviour::HangsInStart] {
        for points in 0..POINTS {
            let stage = match staged(fixture, behaviour) {
                Ok(stage) => stage,
                Err(Stop::Skip { .. }) => break,
                Err(stop) => return Err(stop),
            };
            let bench = Bench::of(stage, fixture.patience())?;
            match leave_after(points, bench.patience, D::start(&bench, bench.request())).await {
                Some(Ok(live)) if behaviour == Behaviour::Waits => {
                    drop(live);
                    bench.shut_down("a dropped run").await?;
                    break;
                }
                Some(Ok(live)) => {
                    drop(live);
                    return Err(broken(
                        "the start succeeded",
                        "the provider staged for a start that hangs hangs",
                    ));
                }
                Some(Err(error)) => {
                    return Err(broken(chain(&error), "the staged provider starts a child"));
                }
                None => {
                    let when = format!("a start that was dropped after {points} polls ({behaviour})");
                    bench.in_time("`Subagents::shutdown`", bench.subagents.shutdown()).await?;
                    // What was launched ends with the locals of `start`, whose drop cannot wait for it.
                    bench.children_end().await;
                    bench.no_trace(&format!("after {when}"))?;
                }
            }
        }
    }
    Ok(())
}

pub(crate) async fn a_dropped_live_run_leaves_no_child<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    for behaviour in [Behaviour::Waits, Behaviour::IgnoresCancel] {
        let stage = match staged(fixture, behaviour) {
            Ok(stage) => stage,
            Err(Stop::Skip { .. }) => continue,
            Err(stop) => return Err(stop),
        };
        let bench = Bench::of(stage, fixture.patience())?;
        let live = bench.started::<D>(bench.request()).await?;
        let id = live.id();
        drop(live);
        bench.shut_down(&format!("the drop of a live run ({behaviour})")).await?;
        aborted(&bench.events.pair(id)?.stop_reason, &StopReason::Aborted)?;
    }
    Ok(())
}

pub(crate) async fn a_dropped_settled_run_leaves_no_child<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Completes)?;
    let live = bench.started::<D>(bench.request()).await?;
    let id = live.id();
    drop(bench.in_time("a run that completes", live.settle()).await?);
    bench.shut_down("the drop of a settled run").await?;
    let reason = bench.events.pair(id)?.stop_reason;
    ensure(
        reason == StopReason::Completed,
        || format!("`Ended` carried `{reason}`"),
        "dropping a settled run does not change how it ended",
    )
}

pub(crate) async fn a_dropped_wait_leaves_no_child<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    // `settle`, `collect` and `settle_within` own the handle; `result` does not.
    for points in 0..POINTS {
        for way in ["settle", "collect", "settle_within", "dispose"] {
            let bench = Bench::open(fixture, Behaviour::Waits)?;
            let live = bench.started::<D>(bench.request()).await?;
            let id = live.id();
            let wait = bench.patience;
            match way {
                "settle" => drop(leave_after(points.min(1), wait, live.settle()).await),
                "collect" => drop(leave_after(points.min(1), wait, live.collect()).await),
                "settle_within" => drop(leave_after(points.min(1), wait, live.settle_within(wait)).await),
                _ => drop(leave_after(points, wait, live.dispose()).await),
            }
            bench.shut_down(&format!("the drop of `{way}` after {points} polls")).await?;
            bench.events.pair(id)?;
            if way != "dispose" && points > 1 {
                break;
            }
        }
        let bench = Bench::open(fixture, Behaviour::Completes)?;
        let live = bench.started::<D>(bench.request()).await?;
        drop(leave_after(points, bench.patience, live.collect()).await);
        bench.shut_down(&format!("the drop of `collect` of a completing run after {points} polls")).await?;
    }
    let bench = Bench::open(fixture, Behaviour::Completes)?;
    let live = bench.started::<D>(bench.request()).await?;
    drop(leave_after(1, bench.patience, live.result()).await);
    let completed = bench.in_time("a run that completes", live.result()).await?;
    ensure(
        completed.as_ref().is_ok_and(crate::SubagentResult::is_completed),
        || format!("after a dropped `result()` the run ended with {completed:?}"),
        "dropping the future of `result()` loses nothing, and the run goes on",
    )?;
    bench.in_time("the disposal", live.dispose()).await?.ok();
    bench.shut_down("a disposal").await
}

pub(crate) async fn a_run_dropped_without_a_runtime_ends_its_child<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let stage = staged(fixture, Behaviour::Waits)?;
    let patience = fixture.patience();
    let outlived = move || -> Checked {
        let bench = Bench::of(stage, patience)?;
        let live = {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| broken(chain(&error), "a second Tokio runtime can be made"))?;
            runtime.block_on(bench.started::<D>(bench.request()))?
        };
        let id = live.id();
        drop(live);
        // No clock of Tokio's is left either.
        let deadline = std::time::Instant::now() + patience;
        while bench.live() > 0 && std::time::Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        let left = bench.live();
        ensure(
            left == 0,
            || format!("{left} live children after the runtime ended and the run was dropped"),
            "the run's own `Drop` ends the child at once: abort the task, kill the process group",
        )?;
        aborted(&bench.events.pair(id)?.stop_reason, &StopReason::Aborted)
    };
    match tokio::task::spawn_blocking(outlived).await {
        Ok(checked) => checked,
        Err(error) => Err(broken(chain(&error), "dropping a run without a runtime does not panic")),
    }
}
