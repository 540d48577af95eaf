//! No child survives its handle, whichever `.await` its caller was dropped at.
//!
//! The harness runs the same scene again and again and drops the future under test after its first, second, third
//! poll, until it is ready before it is dropped.

use std::time::Duration;

use subagent::testing::{Script, ScriptedRun};
use subagent::{FollowUp, NoOutput, Request, Settled, StopReason};

use crate::support::{GRACE, Rig, SECOND, let_others_run, poll_times};

/// How long the scripts' waits are: virtual time where the clock is paused, real time elsewhere.
const STEP: Duration = Duration::from_millis(1);

/// Runs `scene` with 0, 1, 2, … polls until it says that its future was ready, then checks that nothing is left.
macro_rules! at_every_poll {
    ($rig:expr, $scene:expr) => {{
        let mut dropped = 0;
        loop {
            let rig = $rig;
            let ready: bool = $scene(&rig, dropped).await;
            rig.leaves_nothing().await;
            if ready {
                break;
            }
            dropped += 1;
            assert!(dropped < 1_000, "the future is never ready");
        }
        assert!(dropped > 1, "the future was not dropped half way");
    }};
}

fn slow_start(script: Script) -> Script {
    script.wait(STEP).wait(STEP).text("…").wait(STEP).in_start()
}

fn turn() -> Script {
    Script::new().wait(STEP).text("so far").wait(STEP).complete("done").slow_dispose(STEP)
}

/// What a caller may drop, one scene each.
mod scenes {
    use super::{FollowUp, NoOutput, Request, Rig, STEP, ScriptedRun, Settled, poll_times};

    /// The run is not published unless the future was ready.
    pub(super) async fn start(rig: &Rig, polls: usize) -> bool {
        let started = poll_times(polls, rig.provider.start(Request::new("go"))).await;
        let ready = started.is_some();
        assert_eq!(rig.events.started().len(), usize::from(ready));
        drop(started);
        ready
    }

    pub(super) async fn start_by_name(rig: &Rig, polls: usize) -> bool {
        let started = poll_times(polls, rig.subagents.start("scripted", Request::new("go"))).await;
        let ready = started.is_some();
        assert_eq!(rig.events.started().len(), usize::from(ready));
        ready
    }

    pub(super) async fn start_and_collect(rig: &Rig, polls: usize) -> bool {
        let all = async { rig.started(Request::new("go")).await.unwrap().collect().await };
        poll_times(polls, all).await.is_some()
    }

    pub(super) async fn collect(rig: &Rig, polls: usize) -> bool {
        poll_times(polls, rig.start().await.collect()).await.is_some()
    }

    pub(super) async fn collect_settled(rig: &Rig, polls: usize) -> bool {
        let settled = rig.start().await.settle().await;
        poll_times(polls, settled.collect()).await.is_some()
    }

    pub(super) async fn settle(rig: &Rig, polls: usize) -> bool {
        poll_times(polls, rig.start().await.settle()).await.is_some()
    }

    pub(super) async fn settle_within(rig: &Rig, polls: usize) -> bool {
        poll_times(polls, rig.start().await.settle_within(1_000 * STEP)).await.is_some()
    }

    pub(super) async fn dispose(rig: &Rig, polls: usize) -> bool {
        let ready = poll_times(polls, rig.start().await.dispose()).await.is_some();
        // Driven to its end all the same.
        rig.subagents.shutdown().await;
        assert_eq!(rig.log.disposals(), 1);
        ready
    }

    pub(super) async fn resume(rig: &Rig, polls: usize) -> bool {
        let settled: Settled<ScriptedRun, NoOutput> = rig.start().await.settle().await;
        let again = async {
            let live = settled.resume(FollowUp::new("again")).await.unwrap();
            live.collect().await
        };
        poll_times(polls, again).await.is_some()
    }
}

macro_rules! scenes {
    ($($name:ident: $scene:ident with $script:expr;)+) => {
        mod paused {
            use super::*;
            $(
                #[tokio::test(start_paused = true)]
                async fn $name() {
                    at_every_poll!(Rig::new($script), scenes::$scene);
                }
            )+
        }

        mod multi_threaded {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    at_every_poll!(Rig::with_grace(20 * STEP, $script), scenes::$scene);
                }
            )+
        }
    };
}

scenes! {
    a_start: start with slow_start(Script::new()).wait(STEP).complete("done");
    a_start_that_ignores_its_cancel: start with slow_start(Script::new().ignore_cancel()).complete("done");
    a_start_whose_late_child_is_slow_to_end: start
        with slow_start(Script::new().ignore_cancel()).complete("done").slow_dispose(50 * STEP);
    a_start_by_name: start_by_name with slow_start(Script::new()).wait(STEP).complete("done");
    a_start_whose_child_settles_inside_it: start with slow_start(Script::new()).complete("done").in_start().wait(STEP).in_start();
    a_collection: collect with turn();
    a_collection_of_a_settled_run: collect_settled with turn().slow_dispose(2 * STEP);
    a_collection_of_a_deaf_child: collect with turn().ignore_cancel();
    a_collection_whose_disposal_fails: collect with turn().fail_dispose("stuck");
    a_settle: settle with turn();
    a_settle_of_a_child_that_panics: settle with Script::new().wait(STEP).panic("scripted");
    a_settle_of_a_child_that_loses_its_settlement: settle with Script::new().wait(STEP).lose_settlement();
    a_settle_within_a_time: settle_within with turn();
    a_disposal: dispose with Script::new().hang().slow_dispose(STEP);
    a_resumption_and_its_collection: resume with turn();
}

fn whole_life() -> Script {
    slow_start(Script::new()).wait(STEP).complete("done").slow_dispose(STEP)
}

#[tokio::test(start_paused = true)]
async fn the_whole_life_of_a_run_can_be_left_at_every_poll() {
    at_every_poll!(Rig::new(whole_life()), scenes::start_and_collect);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_whole_life_of_a_run_can_be_left_at_every_poll_beside_other_threads() {
    at_every_poll!(Rig::with_grace(20 * STEP, whole_life()), scenes::start_and_collect);
}

#[tokio::test(start_paused = true)]
async fn a_live_handle_cancels_its_run_and_the_child_is_disposed_of() {
    let rig = Rig::new(Script::new().text("so far").hang());
    let run = rig.start().await;
    let_others_run().await;
    let id = run.id();
    let cancellation = run.cancellation();
    drop(run);
    assert_eq!(cancellation.cause(), Some(subagent::CancelCause::Dropped));
    rig.leaves_nothing().await;
    assert_eq!(rig.events.ended(), [(id, StopReason::Aborted)]);
    assert_eq!(rig.log.disposals(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_live_handle_before_its_child_ran_at_all() {
    let rig = Rig::new(Script::new().wait(SECOND).complete("ran"));
    drop(rig.start().await);
    rig.leaves_nothing().await;
    assert_eq!(rig.events.reasons(), [StopReason::Aborted]);
}

#[tokio::test(start_paused = true)]
async fn a_settled_handle_has_its_child_disposed_of() {
    let rig = Rig::new(Script::new().complete("done"));
    drop(rig.start().await.settle().await);
    let run = rig.start().await;
    run.result().await.unwrap();
    drop(run);
    rig.leaves_nothing().await;
    assert_eq!(rig.log.disposals(), 2);
    assert_eq!(rig.events.reasons(), [StopReason::Completed, StopReason::Completed]);
}

#[tokio::test(start_paused = true)]
async fn an_erased_and_a_narrowed_handle_do_the_same() {
    let rig = Rig::new(Script::new().hang());
    drop(rig.subagents.start("scripted", Request::new("go")).await.unwrap());
    drop(rig.subagents.start("scripted", Request::new("go")).await.unwrap().into_steerable().unwrap());
    drop(
        rig.subagents.start("scripted", Request::new("go")).await.unwrap().downcast::<ScriptedRun>().unwrap(),
    );
    drop(rig.start().await.erase());
    rig.leaves_nothing().await;
    assert_eq!(rig.log.disposals(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_was_never_polled_does_nothing() {
    let rig = Rig::new(Script::new().complete("ran"));
    drop(rig.provider.start(Request::new("go")));
    assert!(rig.log.requests().is_empty());
    rig.leaves_nothing().await;
    assert!(rig.events.started().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_wedged_start_is_driven_on_for_the_grace_and_then_dropped() {
    let rig = Rig::new(Script::new().hang().in_start());
    assert!(poll_times(1, rig.provider.start(Request::new("go"))).await.is_none());
    assert_eq!(rig.log.live_children(), 1);
    tokio::time::sleep(GRACE / 2).await;
    assert_eq!(rig.log.live_children(), 1, "it had no time to undo what it began");
    tokio::time::sleep(GRACE).await;
    assert_eq!(rig.log.live_children(), 0);
    rig.leaves_nothing().await;
    assert!(rig.events.started().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_aborted_takes_its_run_along() {
    let rig = Rig::new(Script::new().wait(60 * SECOND).complete("done"));
    let run = rig.start().await;
    let task = tokio::spawn(run.collect());
    let_others_run().await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    rig.leaves_nothing().await;
    assert_eq!(rig.events.reasons(), [StopReason::Aborted]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_panics_takes_its_run_along() {
    let rig = Rig::new(Script::new().wait(60 * SECOND).complete("done"));
    let run = rig.start().await;
    let task = tokio::spawn(async move {
        tokio::time::sleep(SECOND).await;
        assert!(run.resumed_from().is_some(), "the caller panics");
    });
    assert!(task.await.unwrap_err().is_panic());
    rig.leaves_nothing().await;
    assert_eq!(rig.events.reasons(), [StopReason::Aborted]);
}
