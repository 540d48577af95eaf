//! Runs whose runtime goes away, whose handle moves to another, and runtimes without a timer.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use futures::StreamExt;
use subagent::testing::Script;
use subagent::{CancelCause, FollowUp, Outcome, Request, ResumeError, StartError, StopReason};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::custom::{Custom, CustomRun};
use crate::support::{
    Rig, SECOND, ScriptedLive, block_on, let_others_run, poll_pending, poll_times, registered,
};

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

fn multi_thread() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn without_timer() -> Runtime {
    Builder::new_current_thread().build().unwrap()
}

/// A run that has said something.
fn started_on(runtime: &Runtime, rig: &Rig) -> ScriptedLive {
    runtime.block_on(async {
        let run = rig.start().await;
        run.updates().next().await.unwrap().unwrap();
        run
    })
}

fn nothing_is_left(rig: &Rig) {
    assert_eq!(rig.log.live_children(), 0);
    assert!(rig.subagents.runs().is_empty());
    rig.events.are_paired();
}

#[test]
fn a_runtime_that_goes_away_under_a_kept_handle_ends_the_run_as_aborted() {
    for runtime in [current_thread(), multi_thread()] {
        let rig = Rig::new(Script::new().text("so far").hang());
        let run = started_on(&runtime, &rig);
        drop(runtime);
        // The child went with its runtime, which is no fault of its provider.
        assert_eq!(rig.events.reasons(), [StopReason::Aborted]);
        let result = block_on(run.result()).unwrap();
        assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "so far"));
        drop(run);
        nothing_is_left(&rig);
        assert_eq!(rig.events.reasons().len(), 1);
    }
}

#[test]
fn a_runtime_that_goes_away_takes_the_tasks_that_hold_handles_along() {
    for runtime in [current_thread(), multi_thread()] {
        let rig = Rig::new(Script::new().text("so far").hang());
        for stage in 0..4 {
            let handle = rig.provider.clone();
            runtime.block_on(async {
                tokio::spawn(async move {
                    let run = handle.start(Request::new("go")).await.unwrap();
                    match stage {
                        0 => std::future::pending::<()>().await,
                        1 => drop(run.result().await),
                        2 => drop(run.settle().await),
                        _ => drop(run.collect().await),
                    }
                });
                while rig.events.started().len() <= stage {
                    tokio::task::yield_now().await;
                }
            });
        }
        drop(runtime);
        nothing_is_left(&rig);
        assert_eq!(rig.events.reasons(), vec![StopReason::Aborted; 4]);
    }
}

#[test]
fn a_runtime_that_goes_away_in_the_middle_of_a_start_publishes_nothing() {
    for runtime in [current_thread(), multi_thread()] {
        let rig = Rig::new(Script::new().hang().in_start());
        let handle = rig.provider.clone();
        runtime.block_on(async {
            tokio::spawn(async move { handle.start(Request::new("go")).await.map(drop) });
            while rig.log.live_children() == 0 {
                tokio::task::yield_now().await;
            }
            // And one that its caller left.
            assert!(poll_times(1, rig.provider.start(Request::new("go"))).await.is_none());
        });
        drop(runtime);
        nothing_is_left(&rig);
        assert!(rig.events.started().is_empty());
    }
}

#[test]
fn a_runtime_that_goes_away_in_the_middle_of_a_disposal_ends_the_run() {
    let rig = Rig::new(Script::new().hang().slow_dispose(3_600 * SECOND));
    let runtime = current_thread();
    runtime.block_on(async {
        drop(rig.start().await);
        let mut disposal = rig.start().await.dispose();
        poll_pending(&mut disposal).await;
        let_others_run().await;
    });
    drop(runtime);
    nothing_is_left(&rig);
    assert_eq!(rig.events.reasons(), [StopReason::Aborted, StopReason::Aborted]);
}

#[test]
fn without_its_runtime_a_run_is_dropped_and_its_drop_ends_the_child() {
    struct Kills(mpsc::Sender<()>);
    impl Drop for Kills {
        fn drop(&mut self) {
            self.0.send(()).ok();
        }
    }

    for how in ["drop", "dispose unpolled", "collect half way"] {
        let (sender, killed) = mpsc::channel();
        let kept = Arc::new(std::sync::Mutex::new(None));
        let slot = Arc::clone(&kept);
        // The child is no task: it outlives the runtime.
        let (_subagents, provider, events) = registered(Custom::new(move |_, settlement| {
            *slot.lock().unwrap() = Some(settlement);
            let run = CustomRun::new().holding(std::sync::Mutex::new(Kills(sender.clone())));
            std::future::ready(Ok(run.on_dispose(std::future::pending)))
        }));
        let runtime = current_thread();
        let run = runtime.block_on(provider.start(Request::new("go"))).unwrap();
        drop(runtime);
        assert!(events.ended().is_empty());
        match how {
            "drop" => drop(run),
            "dispose unpolled" => drop(run.dispose()),
            _ => drop(block_on(poll_times(1, run.collect()))),
        }
        assert_eq!(killed.try_recv(), Ok(()), "{how}");
        assert_eq!(events.reasons(), [StopReason::Aborted], "{how}");
    }
}

#[test]
fn without_its_runtime_a_run_is_still_cancelled_by_handle_and_by_token() {
    for by_token in [false, true] {
        let kept = Arc::new(std::sync::Mutex::new(None));
        let slot = Arc::clone(&kept);
        let (_subagents, provider, events) = registered(Custom::new(move |_, settlement| {
            settlement.progress().text("so far");
            *slot.lock().unwrap() = Some(settlement);
            std::future::ready(Ok(CustomRun::new()))
        }));
        let (top, runtime) = (CancellationToken::new(), current_thread());
        let request = Request::new("go").cancellation(top.child_token());
        let run = runtime.block_on(provider.start(request)).unwrap();
        let childs_own = run.cancellation().token();
        drop(runtime);
        if by_token {
            top.cancel();
        } else {
            run.cancel("stop");
        }
        assert!(childs_own.is_cancelled());
        let result = block_on(run.result()).unwrap();
        assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "so far"));
        assert_eq!(events.reasons(), [StopReason::Aborted]);
        drop(run);
    }
}

#[test]
fn a_handle_on_another_runtime_ends_its_child_on_its_own() {
    for (own, other) in [(multi_thread(), current_thread()), (multi_thread(), multi_thread())] {
        let rig = Rig::new(Script::new().text("so far").hang().slow_dispose(Duration::from_millis(1)));
        let (dropped, collected) = (started_on(&own, &rig), started_on(&own, &rig));
        let (disposed, settled) = (started_on(&own, &rig), started_on(&own, &rig));
        other.block_on(async {
            tokio::spawn(async move { drop(dropped) }).await.unwrap();
            disposed.dispose().await.unwrap();
            collected.cancel("stop");
            drop(poll_times(1, collected.collect()).await);
            drop(poll_times(1, settled.settle()).await);
        });
        drop(other);
        own.block_on(rig.leaves_nothing());
        assert_eq!(rig.log.disposals(), 4);
        assert_eq!(rig.events.reasons(), vec![StopReason::Aborted; 4]);
    }
}

#[test]
fn a_handle_on_no_runtime_ends_its_child_on_its_own() {
    let own = multi_thread();
    let rig = Rig::new(Script::new().text("so far").slow_dispose(Duration::from_millis(1)));
    let dropped = started_on(&own, &rig);
    std::thread::spawn(move || drop(dropped)).join().unwrap();
    let disposed = started_on(&own, &rig);
    block_on(disposed.dispose()).unwrap();
    let collected = started_on(&own, &rig);
    collected.cancel("stop");
    let collected = block_on(collected.collect());
    collected.disposal.unwrap();
    assert_eq!(collected.result.unwrap().text(), "so far");
    let waited = started_on(&own, &rig);
    let waited = block_on(waited.settle_within(Duration::from_millis(5))).unwrap_err();
    waited.cancel("stop");
    let settled = block_on(waited.settle_within(Duration::MAX)).unwrap();
    drop(settled);
    own.block_on(rig.leaves_nothing());
    assert_eq!(rig.log.disposals(), 4);
}

#[test]
fn a_start_and_a_resumption_on_no_runtime_are_refused() {
    let own = multi_thread();
    let rig = Rig::new(Script::new().complete("done"));
    let error = block_on(rig.started(Request::new("go"))).unwrap_err();
    assert!(matches!(error, StartError::NoRuntime), "{error:?}");
    let settled = own.block_on(async { rig.start().await.settle().await });
    let (error, settled) = block_on(settled.resume("again")).unwrap_err().into_parts();
    assert!(matches!(error, ResumeError::NoRuntime), "{error:?}");
    assert_eq!(settled.result().unwrap().text(), "done");
    drop(settled);
    own.block_on(rig.leaves_nothing());
}

#[test]
fn a_start_that_moves_to_another_runtime_stays_with_its_first() {
    let (own, other) = (multi_thread(), current_thread());
    let rig = Rig::new(Script::new().hang());
    let mut start = rig.provider.start(Request::new("go"));
    let run = own.block_on(async { (&mut start).await }).unwrap();
    other.block_on(async { drop(run) });
    own.block_on(rig.leaves_nothing());
}

// ---- a runtime without a timer

#[test]
fn without_a_timer_a_run_completes_and_is_disposed_of() {
    let rig = Rig::new(Script::new().complete("done"));
    without_timer().block_on(async {
        assert_eq!(rig.start().await.collect().await.into_result().unwrap().text(), "done");
        drop(rig.start().await);
        rig.leaves_nothing().await;
    });
}

#[test]
fn without_a_timer_a_cancelled_run_has_no_grace() {
    let rig = Rig::new(Script::new().text("so far").hang());
    without_timer().block_on(async {
        let run = rig.start().await;
        let_others_run().await;
        run.cancel("stop");
        let result = run.collect().await.into_result().unwrap();
        assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "so far"));
        drop(rig.start().await);
        rig.start().await.dispose().await.unwrap();
        rig.leaves_nothing().await;
    });
}

#[test]
fn without_a_timer_a_wedged_start_is_dropped_at_once() {
    let rig = Rig::new(Script::new().hang().in_start());
    without_timer().block_on(async {
        let token = CancellationToken::new();
        let mut start = rig.provider.start(Request::new("go").cancellation(token.clone()));
        poll_pending(&mut start).await;
        token.cancel();
        let error = start.await.unwrap_err();
        assert!(matches!(error, StartError::Cancelled { cause: CancelCause::Token, .. }), "{error:?}");
        assert!(poll_times(1, rig.provider.start(Request::new("go"))).await.is_none());
        let mut unpolled = rig.provider.start(Request::new("go"));
        poll_pending(&mut unpolled).await;
        rig.subagents.shutdown().await;
        drop(unpolled);
        rig.leaves_nothing().await;
    });
}

#[test]
fn without_a_timer_a_time_limit_is_refused() {
    let rig = Rig::new(Script::new().complete("done"));
    without_timer().block_on(async {
        let error = rig.started(Request::new("go").time_limit(SECOND)).await.unwrap_err();
        assert!(matches!(error, StartError::NoTimer), "{error:?}");
        assert!(rig.log.requests().is_empty());
        let settled = rig.start().await.settle().await;
        let (error, settled) =
            settled.resume(FollowUp::new("again").time_limit(SECOND)).await.unwrap_err().into_parts();
        assert!(matches!(error, ResumeError::NoTimer), "{error:?}");
        settled.dispose().await.unwrap();
        rig.leaves_nothing().await;
    });
}

#[test]
fn without_a_timer_a_bounded_wait_does_not_wait() {
    let rig = Rig::new(Script::new().hang());
    without_timer().block_on(async {
        let run = rig.start().await.settle_within(SECOND).await.unwrap_err();
        assert_eq!(run.cancellation().cause(), None);
        run.dispose().await.unwrap();
        rig.leaves_nothing().await;
    });
}

#[test]
fn a_settlement_that_is_lost_while_the_runtime_lives_is_the_providers_fault() {
    for runtime in [current_thread(), multi_thread()] {
        let (subagents, provider, events) = registered(Custom::new(|_, settlement| {
            tokio::spawn(async move { drop(settlement) });
            std::future::ready(Ok(CustomRun::new()))
        }));
        runtime.block_on(async {
            let run = provider.start(Request::new("go")).await.unwrap();
            run.collect().await.result.unwrap_err();
            subagents.shutdown().await;
        });
        assert_eq!(events.reasons(), [StopReason::Error]);
    }
}

#[test]
fn a_child_that_completed_before_its_runtime_went_away_stays_completed() {
    let (_subagents, provider, events) = registered(Custom::new(|_, settlement| {
        settlement.settle(Outcome::completed("done"));
        std::future::ready(Ok(CustomRun::new()))
    }));
    let runtime = current_thread();
    let run = runtime.block_on(provider.start(Request::new("go"))).unwrap();
    drop(runtime);
    assert_eq!(block_on(run.result()).unwrap().text(), "done");
    drop(run);
    assert_eq!(events.reasons(), [StopReason::Completed]);
}
