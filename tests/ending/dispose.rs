use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use subagent::testing::Script;
use subagent::{CancelCause, DisposeError, Outcome, StopReason};
use tokio::time::Instant;

use crate::custom::{Custom, CustomRun};
use crate::support::{Rig, SECOND, let_others_run, poll_pending, registered};

#[tokio::test(start_paused = true)]
async fn disposing_of_a_live_run_aborts_it_and_ends_the_child() {
    let rig = Rig::new(Script::new().text("so far").hang());
    let run = rig.start().await;
    let_others_run().await;
    let (id, cancellation) = (run.id(), run.cancellation());
    let control = rig.subagents.control(id).unwrap();
    let begin = Instant::now();
    run.dispose().await.unwrap();
    assert!(begin.elapsed() < SECOND, "{:?}", begin.elapsed());
    assert_eq!(cancellation.cause(), Some(CancelCause::Disposed));
    assert_eq!(rig.log.live_children(), 0);
    assert_eq!(rig.events.ended(), [(id, StopReason::Aborted)]);
    // Nothing is left to end, and asking harms nobody.
    control.settled().await;
    control.cancel("again");
    rig.leaves_nothing().await;
    assert_eq!(rig.log.disposals(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_disposed_of_has_settled_even_when_its_child_never_did() {
    // The run's disposal leaves the settlement to somebody else.
    let kept = Arc::new(std::sync::Mutex::new(None));
    let slot = Arc::clone(&kept);
    let (subagents, provider, events) = registered(Custom::new(move |_, settlement| {
        settlement.progress().text("so far");
        *slot.lock().unwrap() = Some(settlement);
        async { Ok(CustomRun::new()) }
    }));
    let run = provider.start(subagent::Request::new("go")).await.unwrap();
    let control = subagents.control(run.id()).unwrap();
    run.dispose().await.unwrap();
    assert_eq!(control.state(), subagent::RunState::Settled);
    assert_eq!(events.reasons(), [StopReason::Aborted]);
    let settlement = kept.lock().unwrap().take().unwrap();
    settlement.complete("too late");
    assert_eq!(events.reasons(), [StopReason::Aborted]);
    subagents.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn disposing_in_the_middle_is_no_error_of_the_child() {
    // Its task is ended, and with it the settlement is lost; that is the cancel's doing.
    let rig = Rig::new(Script::new().ignore_cancel().wait(SECOND).settle(Outcome::error("interrupted")));
    let run = rig.start().await;
    let_others_run().await;
    run.dispose().await.unwrap();
    assert_eq!(rig.events.reasons(), [StopReason::Aborted]);
}

#[tokio::test(start_paused = true)]
async fn a_settled_run_is_disposed_of_without_another_end() {
    let rig = Rig::new(Script::new().complete("done"));
    let run = rig.start().await;
    run.result().await.unwrap();
    run.dispose().await.unwrap();
    let run = rig.start().await.settle().await;
    run.dispose().await.unwrap();
    assert_eq!(rig.events.reasons(), [StopReason::Completed, StopReason::Completed]);
    assert_eq!(rig.log.disposals(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_disposal_that_fails_or_panics_says_so_and_the_run_has_ended() {
    let rig = Rig::playing([
        Script::new().hang().fail_dispose("stuck"),
        Script::new().hang().panic_in_dispose("broken"),
    ]);
    let failed = rig.start().await.dispose().await;
    assert!(matches!(failed, Err(DisposeError::Failed { .. })), "{failed:?}");
    let panicked = rig.start().await.dispose().await;
    assert!(
        matches!(&panicked, Err(DisposeError::Panicked { message }) if message == "broken"),
        "{panicked:?}"
    );
    assert_eq!(rig.events.reasons(), [StopReason::Aborted, StopReason::Aborted]);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_disposal_that_panics_before_its_first_poll_stays_inside() {
    let (subagents, provider, events) = registered(Custom::new(|_, settlement| async {
        settlement.complete("done");
        Ok(CustomRun::new().on_dispose(|| -> std::future::Ready<_> { panic!("in the call") }))
    }));
    let request = subagent::Request::new("go");
    let collected = provider.start(request.clone()).await.unwrap().collect().await;
    assert_eq!(collected.result.unwrap().text(), "done");
    assert!(matches!(collected.disposal, Err(DisposeError::Panicked { .. })), "{:?}", collected.disposal);
    drop(provider.start(request).await.unwrap());
    subagents.shutdown().await;
    events.are_paired();
}

#[tokio::test(start_paused = true)]
async fn a_disposal_dropped_before_its_first_poll_goes_on_in_the_background() {
    let rig = Rig::new(Script::new().hang().slow_dispose(30 * SECOND));
    let begin = Instant::now();
    drop(rig.start().await.dispose());
    rig.leaves_nothing().await;
    assert_eq!((begin.elapsed(), rig.log.disposals()), (30 * SECOND, 1));
}

#[tokio::test(start_paused = true)]
async fn a_disposal_dropped_half_way_is_driven_to_its_end() {
    let finished = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&finished);
    let (subagents, provider, events) = registered(Custom::new(move |_, settlement| {
        let flag = Arc::clone(&flag);
        let settlement = std::sync::Mutex::new(settlement);
        async move {
            let run = CustomRun::new().on_dispose(move || async move {
                tokio::time::sleep(30 * SECOND).await;
                flag.store(true, Ordering::SeqCst);
                drop(settlement);
                Ok(())
            });
            Ok(run)
        }
    }));
    let run = provider.start(subagent::Request::new("go")).await.unwrap();
    let begin = Instant::now();
    let mut disposal = run.dispose();
    poll_pending(&mut disposal).await;
    tokio::time::sleep(10 * SECOND).await;
    drop(disposal);
    assert!(!finished.load(Ordering::SeqCst));
    subagents.shutdown().await;
    assert!(finished.load(Ordering::SeqCst));
    assert_eq!(begin.elapsed(), 30 * SECOND);
    assert_eq!(events.reasons(), [StopReason::Aborted]);
}

#[tokio::test(start_paused = true)]
async fn a_disposal_that_is_ready_may_be_dropped_and_polled_again() {
    let rig = Rig::new(Script::new().complete("done"));
    let mut disposal = rig.start().await.dispose();
    (&mut disposal).await.unwrap();
    (&mut disposal).await.unwrap();
    drop(disposal);
    rig.leaves_nothing().await;
    assert_eq!(rig.log.disposals(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_background_disposal_that_fails_or_panics_does_no_harm() {
    let rig = Rig::playing([
        Script::new().hang().fail_dispose("stuck"),
        Script::new().hang().panic_in_dispose("broken"),
    ]);
    drop(rig.start().await);
    drop(rig.start().await);
    rig.leaves_nothing().await;
    assert_eq!(rig.log.disposals(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_drop_panics_does_no_harm() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("while it was dropped");
        }
    }
    let (subagents, provider, events) = registered(Custom::new(|_, settlement| async {
        let run = CustomRun::new().holding(Bomb).holding(std::sync::Mutex::new(settlement));
        Ok(run)
    }));
    let request = subagent::Request::new("go");
    let disposed = provider.start(request.clone()).await.unwrap().dispose().await;
    assert!(matches!(disposed, Err(DisposeError::Panicked { .. })), "{disposed:?}");
    drop(provider.start(request).await.unwrap());
    subagents.shutdown().await;
    events.are_paired();
    assert_eq!(events.reasons(), [StopReason::Aborted, StopReason::Aborted]);
}
