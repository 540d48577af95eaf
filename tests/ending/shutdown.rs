use std::sync::Arc;

use subagent::testing::Script;
use subagent::{CancelCause, RegisterError, Request, StartError, StopReason};
use tokio::time::Instant;

use crate::support::{GRACE, Rig, SECOND, let_others_run, poll_pending};

#[tokio::test(start_paused = true)]
async fn it_cancels_every_live_run_and_waits_for_it() {
    let rig = Rig::playing([Script::new().text("listens"), Script::new().text("is deaf").hang()]);
    let (listens, deaf) = (rig.start().await, rig.start().await);
    let_others_run().await;
    let begin = Instant::now();
    rig.subagents.shutdown().await;
    assert_eq!(begin.elapsed(), GRACE);
    for (run, text) in [(listens, "listens"), (deaf, "is deaf")] {
        assert_eq!(run.cancellation().cause(), Some(CancelCause::Shutdown));
        let collected = run.collect().await;
        let result = collected.result.unwrap();
        assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, text));
        collected.disposal.unwrap();
    }
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_every_disposal_in_the_background() {
    let rig = Rig::new(Script::new().hang().slow_dispose(30 * SECOND));
    let begin = Instant::now();
    drop(rig.start().await);
    tokio::time::sleep(10 * SECOND).await;
    drop(rig.start().await);
    rig.subagents.shutdown().await;
    assert_eq!((begin.elapsed(), rig.log.disposals()), (40 * SECOND, 2));
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn it_refuses_new_runs_and_registrations() {
    let rig = Rig::new(Script::new().complete("ran"));
    rig.subagents.shutdown().await;
    let error = rig.started(Request::new("go")).await.unwrap_err();
    assert!(matches!(error, StartError::ShutDown), "{error:?}");
    let error = rig.subagents.start("scripted", Request::new("go")).await.unwrap_err();
    assert!(matches!(error, StartError::ShutDown), "{error:?}");
    let error =
        rig.subagents.register("late", subagent::testing::ScriptedProvider::replying("x")).unwrap_err();
    assert!(matches!(error, RegisterError::ShutDown), "{error:?}");
    assert!(rig.log.requests().is_empty());
}

#[tokio::test(start_paused = true)]
async fn it_may_be_called_twice_and_at_once_and_left_half_way() {
    let rig = Rig::new(Script::new().hang());
    let run = rig.start().await;
    assert!(crate::support::poll_times(1, rig.subagents.shutdown()).await.is_none());
    assert_eq!(run.cancellation().cause(), Some(CancelCause::Shutdown));
    let begin = Instant::now();
    tokio::join!(rig.subagents.shutdown(), rig.subagents.shutdown());
    assert_eq!(begin.elapsed(), GRACE);
    rig.subagents.shutdown().await;
    assert_eq!(begin.elapsed(), GRACE);
    run.dispose().await.unwrap();
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn it_is_not_held_up_by_who_keeps_a_handle() {
    let rig =
        Rig::playing([Script::new().complete("done"), Script::new().complete("done"), Script::new().hang()]);
    let settled = rig.start().await.settle().await;
    let ended = rig.start().await;
    ended.result().await.unwrap();
    let live = rig.start().await;
    let begin = Instant::now();
    rig.subagents.shutdown().await;
    assert_eq!(begin.elapsed(), GRACE);
    assert_eq!(settled.collect().await.into_result().unwrap().text(), "done");
    assert_eq!(ended.collect().await.into_result().unwrap().text(), "done");
    live.dispose().await.unwrap();
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn it_cancels_pending_starts_and_waits_for_them() {
    for script in [Script::new().wait(60 * SECOND).in_start(), Script::new().hang().in_start()] {
        let rig = Rig::new(script);
        let handle = rig.provider.clone();
        let starter = tokio::spawn(async move { handle.start(Request::new("go")).await.map(drop) });
        let_others_run().await;
        assert_eq!(rig.log.live_children(), 1);
        let begin = Instant::now();
        rig.leaves_nothing().await;
        assert!(begin.elapsed() <= GRACE);
        let error = starter.await.unwrap().unwrap_err();
        assert!(matches!(error, StartError::Cancelled { cause: CancelCause::Shutdown, .. }), "{error:?}");
        assert!(rig.events.started().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_a_start_that_was_left() {
    let rig = Rig::new(Script::new().hang().in_start());
    assert!(crate::support::poll_times(1, rig.provider.start(Request::new("go"))).await.is_none());
    let begin = Instant::now();
    rig.leaves_nothing().await;
    assert_eq!(begin.elapsed(), GRACE);
}

#[tokio::test(start_paused = true)]
async fn it_waits_for_the_disposal_of_a_child_that_came_too_late() {
    let rig = Rig::new(Script::new().ignore_cancel().wait(SECOND).in_start().slow_dispose(30 * SECOND));
    let handle = rig.provider.clone();
    let starter = tokio::spawn(async move { handle.start(Request::new("go")).await.map(drop) });
    let_others_run().await;
    let begin = Instant::now();
    rig.leaves_nothing().await;
    assert_eq!((begin.elapsed(), rig.log.disposals()), (31 * SECOND, 1));
    assert!(matches!(starter.await.unwrap(), Err(StartError::Cancelled { .. })));
}

#[tokio::test(start_paused = true)]
async fn it_is_not_held_up_by_a_start_that_nobody_polls() {
    let rig = Rig::new(Script::new().wait(60 * SECOND).in_start().complete("ran"));
    let mut start = rig.provider.start(Request::new("go").time_limit(std::time::Duration::MAX));
    poll_pending(&mut start).await;
    let begin = Instant::now();
    rig.subagents.shutdown().await;
    assert!(begin.elapsed() <= 3 * GRACE, "{:?}", begin.elapsed());
    let error = start.await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { cause: CancelCause::Shutdown, .. }), "{error:?}");
    assert!(rig.events.started().is_empty());
    rig.leaves_nothing().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_when_it_comes_while_runs_start() {
    for round in 0..100_u32 {
        let rig = Rig::with_grace(
            std::time::Duration::from_millis(20),
            Script::new().wait(std::time::Duration::from_micros(50)).in_start().text("…"),
        );
        let rig = Arc::new(rig);
        let starters: Vec<_> = (0..4)
            .map(|_| {
                let handle = rig.provider.clone();
                tokio::spawn(async move {
                    loop {
                        match handle.start(Request::new("go")).await {
                            // Half of the handles are dropped, half are disposed of.
                            Ok(run)
                                if run
                                    .id()
                                    .to_string()
                                    .ends_with(['0', '2', '4', '6', '8', 'a', 'c', 'e']) =>
                            {
                                drop(run);
                            }
                            Ok(run) => run.dispose().await.unwrap(),
                            Err(error) => break error,
                        }
                    }
                })
            })
            .collect();
        tokio::time::sleep(std::time::Duration::from_micros(u64::from(round) * 20)).await;
        rig.subagents.shutdown().await;
        for starter in starters {
            let error = starter.await.unwrap();
            assert!(matches!(error, StartError::ShutDown | StartError::Cancelled { .. }), "{error:?}");
        }
        rig.leaves_nothing().await;
    }
}
