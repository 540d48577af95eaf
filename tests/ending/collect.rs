use std::num::NonZeroUsize;
use std::sync::Arc;

use subagent::testing::{Script, ScriptedProvider};
use subagent::{DisposeError, Outcome, Request, RunFault, StopReason, Subagents};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::support::{Rig, SECOND, let_others_run, poll_pending, poll_times};

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_bounded_gives_the_handle_back_and_the_run_goes_on() {
    let rig = Rig::new(Script::new().wait(10 * SECOND).complete("done"));
    let run = rig.start().await;
    let begin = Instant::now();
    let run = run.settle_within(3 * SECOND).await.unwrap_err();
    assert_eq!(begin.elapsed(), 3 * SECOND);
    assert_eq!(run.cancellation().cause(), None);
    let run = run.settle_within(std::time::Duration::ZERO).await.unwrap_err();
    let settled = run.settle_within(std::time::Duration::MAX).await.unwrap();
    assert_eq!(begin.elapsed(), 10 * SECOND);
    assert_eq!(settled.result().unwrap().text(), "done");
    settled.dispose().await.unwrap();
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_has_settled_needs_no_time() {
    let rig = Rig::new(Script::new().complete("done"));
    let run = rig.start().await;
    run.result().await.unwrap();
    let settled = run.settle_within(std::time::Duration::ZERO).await.unwrap();
    assert_eq!(settled.collect().await.into_result().unwrap().text(), "done");
}

#[tokio::test(start_paused = true)]
async fn many_waiters_get_the_same_result_after_the_event() {
    let rig = Rig::new(Script::new().wait(SECOND).complete("done"));
    let run = Arc::new(rig.start().await);
    let ended_before = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = Arc::clone(&ended_before);
    let _subscription = rig.subagents.subscribe(move |event| {
        if matches!(event, subagent::Event::Ended(_)) {
            seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    });
    let waiters: Vec<_> = (0..100)
        .map(|_| {
            let (run, ended) = (Arc::clone(&run), Arc::clone(&ended_before));
            tokio::spawn(async move {
                let text = run.result().await.unwrap().text().into_owned();
                (text, ended.load(std::sync::atomic::Ordering::SeqCst))
            })
        })
        .collect();
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), ("done".to_owned(), 1));
    }
    Arc::into_inner(run).unwrap().dispose().await.unwrap();
    rig.leaves_nothing().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_waiter_sleeps_through_the_end() {
    for _ in 0..300 {
        let go = Arc::new(Notify::new());
        let rig = Rig::new(Script::new().wait_for(&go).complete("done"));
        let run = Arc::new(rig.start().await);
        let waiters: Vec<_> = (0..4)
            .map(|_| {
                let run = Arc::clone(&run);
                tokio::spawn(async move { run.result().await.unwrap().text().into_owned() })
            })
            .collect();
        go.notify_one();
        for waiter in waiters {
            assert_eq!(waiter.await.unwrap(), "done");
        }
        assert_eq!(run.result().await.unwrap().text(), "done");
        Arc::into_inner(run).unwrap().dispose().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_the_result_can_be_left_at_any_point() {
    let rig = Rig::new(Script::new().wait(SECOND).complete("done"));
    let run = rig.start().await;
    for polls in [0, 1, 1, 1] {
        assert!(poll_times(polls, run.result()).await.is_none());
    }
    assert_eq!(run.cancellation().cause(), None);
    assert_eq!(run.result().await.unwrap().text(), "done");
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
}

#[tokio::test(start_paused = true)]
async fn a_failed_disposal_hides_no_result() {
    let rig = Rig::new(Script::new().complete("done").fail_dispose("the socket is stuck"));
    let collected = rig.start().await.collect().await;
    assert_eq!(collected.result.as_ref().unwrap().text(), "done");
    let error = collected.disposal.as_ref().unwrap_err();
    assert_eq!(error.code(), "DISPOSE_FAILED");
    assert_eq!(std::error::Error::source(error).unwrap().to_string(), "the socket is stuck");
    assert_eq!(collected.into_result().unwrap().text(), "done");
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_run_and_a_failed_disposal_arrive_apart() {
    let rig = Rig::playing([
        Script::new().settle(Outcome::error("the model is down")).fail_dispose("the socket is stuck"),
        Script::new().lose_settlement().panic_in_dispose("broken"),
        Script::new().settle(Outcome::error("the model is down")),
    ]);
    let failed = rig.start().await.collect().await;
    assert_eq!(failed.result.unwrap().diagnostic(), Some("the model is down"));
    assert!(matches!(failed.disposal, Err(DisposeError::Failed { .. })));

    let run = rig.start().await;
    let id = run.id();
    let faulty = run.collect().await;
    assert_eq!(faulty.result.unwrap_err(), RunFault::SettlementLost { run_id: id });
    let Err(DisposeError::Panicked { message }) = faulty.disposal else { panic!("{:?}", faulty.disposal) };
    assert_eq!(message, "broken");

    let clean = rig.start().await.collect().await;
    assert_eq!(clean.result.unwrap().stop_reason(), &StopReason::Error);
    clean.disposal.unwrap();
    assert_eq!(rig.events.reasons(), [StopReason::Error, StopReason::Error, StopReason::Error]);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_and_a_failed_disposal_arrive_apart() {
    let rig = Rig::new(Script::new().text("so far").fail_dispose("the socket is stuck"));
    let run = rig.start().await;
    let id = run.id();
    run.cancel("stop");
    let collected = run.collect().await;
    assert_eq!(collected.result.unwrap().stop_reason(), &StopReason::Aborted);
    assert!(collected.disposal.is_err());
    assert_eq!(rig.events.ended(), [(id, StopReason::Aborted)]);
}

#[tokio::test(start_paused = true)]
async fn collecting_waits_for_a_slow_disposal() {
    let rig = Rig::new(Script::new().complete("done").slow_dispose(5 * SECOND));
    let run = rig.start().await;
    let begin = Instant::now();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    assert_eq!(begin.elapsed(), 5 * SECOND);
    assert_eq!(rig.log.live_children(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_panics_or_loses_its_settlement_keeps_no_slot() {
    let rig = Rig::playing([Script::new().text("so far").panic("scripted"), Script::new().lose_settlement()]);
    let panicked = rig.start().await;
    let result = panicked.result().await.unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Error, "so far"));
    let_others_run().await;
    assert!(rig.subagents.runs().is_empty());
    assert_eq!(rig.log.live_children(), 0);
    let lost = rig.start().await;
    lost.result().await.unwrap_err();
    assert!(rig.subagents.runs().is_empty());
    panicked.dispose().await.unwrap();
    lost.dispose().await.unwrap();
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_ends_and_gives_its_slot_back_although_nobody_collects_it() {
    let rig = Rig::new(Script::new().wait(SECOND).complete("done"));
    let mut runs = Vec::new();
    for _ in 0..50 {
        runs.push(rig.start().await);
    }
    assert_eq!(rig.subagents.runs().len(), 50);
    tokio::time::sleep(2 * SECOND).await;
    let_others_run().await;
    assert_eq!(rig.events.reasons(), vec![StopReason::Completed; 50]);
    assert!(rig.subagents.runs().is_empty());
    assert_eq!(rig.log.live_children(), 0);
    for run in &runs {
        assert!(rig.subagents.control(run.id()).is_none());
        assert_eq!(run.result().await.unwrap().text(), "done");
    }
    rig.leaves_nothing().await;
    drop(runs);
}

#[tokio::test(start_paused = true)]
async fn a_settled_run_that_nobody_collects_is_in_nobodys_way() {
    let subagents = Subagents::builder().max_concurrent(NonZeroUsize::MIN).build();
    let rig = Rig::with(subagents, ScriptedProvider::new(Script::new().wait(SECOND).complete("done")));
    let first = rig.start().await;
    let begin = Instant::now();
    let second = rig.start().await;
    assert_eq!(begin.elapsed(), SECOND);
    assert_eq!(second.collect().await.into_result().unwrap().text(), "done");
    rig.leaves_nothing().await;
    first.dispose().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn of_a_settled_run_nothing_is_kept_but_by_its_handle() {
    let rig = Rig::new(Script::new().complete("done"));
    let first = rig.start().await;
    first.result().await.unwrap();
    // Even its id is free.
    let again = rig.started(Request::new("go").run_id(first.id())).await.unwrap();
    again.dispose().await.unwrap();
    first.dispose().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_polled_by_several_tasks_in_turn_is_woken_in_the_last() {
    let rig = Rig::new(Script::new().wait(SECOND).complete("done"));
    let run = rig.start().await;
    let mut settle = Box::pin(run.settle());
    poll_pending(&mut settle).await;
    let settled = tokio::spawn(settle).await.unwrap();
    assert_eq!(settled.collect().await.into_result().unwrap().text(), "done");
    rig.leaves_nothing().await;
}
