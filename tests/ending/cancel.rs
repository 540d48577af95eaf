use std::sync::Arc;

use subagent::testing::{Script, ScriptedProvider};
use subagent::{
    CancelCause, Event, Outcome, Parent, Request, RunState, Spawn, StartError, StopReason, Subagents,
    provider_fn,
};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::custom::{Custom, CustomRun};
use crate::support::{Events, GRACE, Rig, SECOND, in_time, let_others_run, poll_pending, registered};

fn parent() -> Parent {
    Parent::new("agent", "session")
}

/// A child that says something and then waits for its cancellation.
fn talks() -> Script {
    Script::new().text("so far")
}

#[tokio::test(start_paused = true)]
async fn a_child_that_listens_settles_by_itself_and_at_once() {
    let rig = Rig::new(talks());
    let run = rig.start().await;
    let_others_run().await;
    let begin = Instant::now();
    run.cancel("no longer needed");
    let result = in_time(run.collect()).await.into_result().unwrap();
    assert_eq!(begin.elapsed(), std::time::Duration::ZERO);
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "so far"));
    assert_eq!(result.diagnostic(), Some("cancelled: no longer needed"));
    assert_eq!(rig.events.reasons(), [StopReason::Aborted]);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_without_a_reason_does_the_same() {
    let rig = Rig::new(talks());
    let run = rig.start().await;
    let_others_run().await;
    run.cancel("");
    let result = in_time(run.collect()).await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "so far"));
    assert_eq!(result.diagnostic(), Some("cancelled"));
}

#[tokio::test(start_paused = true)]
async fn a_wedged_child_is_settled_after_the_grace_with_the_text_so_far() {
    let rig = Rig::new(talks().hang());
    let run = rig.start().await;
    let_others_run().await;
    let begin = Instant::now();
    run.cancel("enough");
    let result = in_time(run.result()).await.unwrap();
    assert_eq!(begin.elapsed(), GRACE);
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "so far"));
    assert_eq!(result.diagnostic(), Some("cancelled: enough"));
    run.dispose().await.unwrap();
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_child_does_after_it_was_settled_changes_nothing() {
    let go = Arc::new(Notify::new());
    let rig = Rig::new(talks().ignore_cancel().wait_for(&go).text(" and more").complete("too late"));
    let run = rig.start().await;
    let_others_run().await;
    run.cancel("enough");
    let before = run.result().await.unwrap();
    go.notify_one();
    let_others_run().await;
    let after = run.result().await.unwrap();
    assert_eq!((before.text(), before.stop_reason()), (after.text(), after.stop_reason()));
    assert_eq!(rig.events.reasons(), [StopReason::Aborted]);
    run.dispose().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_a_grace_a_wedged_child_is_settled_at_once() {
    let rig = Rig::with_grace(std::time::Duration::ZERO, talks().hang());
    let run = rig.start().await;
    let_others_run().await;
    let begin = Instant::now();
    run.cancel("enough");
    let result = in_time(run.collect()).await.into_result().unwrap();
    assert!(begin.elapsed() < SECOND, "{:?}", begin.elapsed());
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "so far"));
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn an_endless_grace_leaves_the_end_to_the_child() {
    let go = Arc::new(Notify::new());
    let rig = Rig::with_grace(
        std::time::Duration::MAX,
        talks().ignore_cancel().wait_for(&go).settle(Outcome::new(StopReason::Refusal)),
    );
    let run = rig.start().await;
    run.cancel("enough");
    let run = run.settle_within(3_600 * SECOND).await.unwrap_err();
    go.notify_one();
    assert_eq!(in_time(run.collect()).await.into_result().unwrap().stop_reason(), &StopReason::Aborted);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn the_first_reason_stands_and_a_second_cancel_changes_nothing() {
    let token = CancellationToken::new();
    let rig = Rig::new(talks().hang());
    let run = rig.started(Request::new("go").cancellation(token.clone())).await.unwrap();
    let control = rig.subagents.control(run.id()).unwrap();
    let begin = Instant::now();
    run.cancel("first");
    tokio::time::sleep(SECOND).await;
    // Neither of these starts the grace again.
    run.cancel("second");
    control.cancel("third");
    token.cancel();
    let result = in_time(run.result()).await.unwrap();
    assert_eq!(begin.elapsed(), GRACE);
    assert_eq!(result.diagnostic(), Some("cancelled: first"));
    run.cancel("fourth");
    let_others_run().await;
    assert_eq!(run.cancellation().cause(), Some(CancelCause::Requested("first".into())));
    assert_eq!(rig.events.reasons(), [StopReason::Aborted]);
    run.dispose().await.unwrap();
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_after_the_end_is_no_cancel() {
    let rig = Rig::new(Script::new().complete("done"));
    let run = rig.start().await;
    run.result().await.unwrap();
    run.cancel("too late");
    assert_eq!(run.cancellation().cause(), None);
    assert_eq!(in_time(run.collect()).await.into_result().unwrap().stop_reason(), &StopReason::Completed);
}

#[tokio::test(start_paused = true)]
async fn stopping_again_and_again_hides_neither_updates_nor_events() {
    use futures::StreamExt;

    let rig = Rig::new(
        Script::new().ignore_cancel().wait(SECOND).text("still here").settle(Outcome::error("gave up")),
    );
    let run = rig.start().await;
    let updates = run.updates();
    for _ in 0..3 {
        run.cancel("stop");
    }
    let seen: Vec<_> = updates.collect().await;
    assert_eq!(seen.len(), 1);
    let result = in_time(run.collect()).await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "still here"));
    assert_eq!(result.diagnostic(), Some("gave up"), "the child's own words are kept");
    assert_eq!((rig.events.started().len(), rig.events.reasons()), (1, vec![StopReason::Aborted]));
}

#[tokio::test(start_paused = true)]
async fn each_of_the_requests_and_the_parents_token_cancels() {
    for (request_fires, parent_fires) in [(true, false), (false, true), (true, true)] {
        let rig = Rig::new(talks());
        let (of_request, of_parent) = (CancellationToken::new(), CancellationToken::new());
        let parent = parent().with_cancellation(of_parent.clone());
        let request = Request::new("go").parent(&parent).cancellation(of_request.clone());
        let run = rig.started(request).await.unwrap();
        let_others_run().await;
        assert_eq!(run.cancellation().cause(), None);
        if request_fires {
            of_request.cancel();
        }
        if parent_fires {
            of_parent.cancel();
        }
        let result = in_time(run.collect()).await.into_result().unwrap();
        assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "so far"));
        assert_eq!(result.diagnostic(), Some("cancelled by the caller's token"));
        assert_eq!(rig.events.reasons(), [StopReason::Aborted]);
        rig.leaves_nothing().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_childs_cancel_does_not_go_up() {
    let rig = Rig::new(talks());
    let (of_request, of_parent) = (CancellationToken::new(), CancellationToken::new());
    let parent = parent().with_cancellation(of_parent.clone());
    let request = Request::new("go").parent(&parent).cancellation(of_request.clone());
    let (first, second) = (rig.started(request.clone()).await.unwrap(), rig.started(request).await.unwrap());
    let childs_own = first.cancellation().token();
    first.cancel("this one alone");
    assert!(childs_own.is_cancelled());
    first.collect().await.into_result().unwrap();
    assert!(!of_request.is_cancelled() && !of_parent.is_cancelled());
    assert_eq!(second.cancellation().cause(), None);
    of_parent.cancel();
    assert_eq!(second.collect().await.into_result().unwrap().stop_reason(), &StopReason::Aborted);
}

#[tokio::test(start_paused = true)]
async fn a_parents_cancel_reaches_grandchildren_through_the_runs_token() {
    // Each run's token is that of the parent of the next.
    let rig = Rig::new(talks());
    let top = CancellationToken::new();
    let mut token = top.clone();
    let mut runs = Vec::new();
    for depth in 0..4 {
        let parent = parent().with_depth(depth).with_cancellation(token.clone());
        let run = rig.started(Request::new("go").parent(&parent)).await.unwrap();
        token = run.cancellation().token();
        runs.push(run);
    }
    top.cancel();
    for run in runs {
        assert_eq!(in_time(run.collect()).await.into_result().unwrap().stop_reason(), &StopReason::Aborted);
    }
    rig.leaves_nothing().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_a_tree_of_tokens_from_another_thread_does_not_deadlock() {
    for _ in 0..50 {
        let rig = Rig::new(talks());
        let top = CancellationToken::new();
        let mut runs = Vec::new();
        for depth in 0..8 {
            let child = (0..depth).fold(top.child_token(), |token, _| token.child_token());
            let parent = parent().with_cancellation(child.clone());
            let request = Request::new("go").parent(&parent).cancellation(child.child_token());
            runs.push(rig.started(request).await.unwrap());
        }
        let canceller = std::thread::spawn(move || top.cancel());
        for run in runs {
            assert_eq!(run.collect().await.into_result().unwrap().stop_reason(), &StopReason::Aborted);
        }
        canceller.join().unwrap();
        rig.leaves_nothing().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_has_fired_never_starts_a_child() {
    let fired = CancellationToken::new();
    fired.cancel();
    let rig = Rig::new(Script::new().complete("ran"));
    let by_parent = Request::new("go").parent(&parent().with_cancellation(fired.clone()));
    for request in [Request::new("go").cancellation(fired), by_parent] {
        let start = rig.provider.start(request);
        let id = start.run_id();
        let error = start.await.unwrap_err();
        assert!(matches!(error, StartError::Cancelled { cause: CancelCause::Token, .. }), "{error:?}");
        assert_eq!(error.run_id(), id);
    }
    assert!(rig.log.requests().is_empty() && rig.events.started().is_empty());
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_token_that_fires_before_the_first_poll_never_starts_a_child() {
    let token = CancellationToken::new();
    let rig = Rig::new(Script::new().complete("ran"));
    let start = rig.provider.start(Request::new("go").cancellation(token.clone()));
    token.cancel();
    assert!(matches!(start.await, Err(StartError::Cancelled { .. })));
    assert!(rig.log.requests().is_empty() && rig.events.started().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_cancel_in_the_tick_of_the_start_is_aborted_and_not_failed() {
    // The child's task has not run yet.
    let rig = Rig::new(Script::new().wait(SECOND).settle(Outcome::error("was confused by the cancel")));
    let run = rig.start().await;
    let id = run.id();
    run.cancel("changed my mind");
    let result = in_time(run.collect()).await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Aborted);
    assert!(result.output().is_empty());
    assert_eq!(rig.events.started(), [id]);
    assert_eq!(rig.events.ended(), [(id, StopReason::Aborted)]);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_in_the_moment_of_publication_gives_a_run_with_an_id_that_settles_aborted() {
    // The listener is told before anybody has the handle.
    let rig = Rig::new(talks());
    let seen = rig.subagents.clone();
    let _subscription = rig.subagents.subscribe(move |event| {
        if let Event::Started(started) = event {
            let control = seen.control(started.run.run_id).unwrap();
            assert_eq!(control.state(), RunState::Live);
            control.cancel("refused by an observer");
        }
    });
    let run = rig.start().await;
    let id = run.id();
    let result = in_time(run.collect()).await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Aborted);
    assert_eq!(result.diagnostic(), Some("cancelled: refused by an observer"));
    assert_eq!(rig.events.ended(), [(id, StopReason::Aborted)]);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_pending_start_that_listens_is_given_up_at_once() {
    let token = CancellationToken::new();
    let rig = Rig::new(Script::new().wait(60 * SECOND).in_start().complete("ran"));
    let mut start = rig.provider.start(Request::new("go").cancellation(token.clone()));
    poll_pending(&mut start).await;
    assert_eq!(rig.log.live_children(), 1);
    let begin = Instant::now();
    token.cancel();
    let error = start.await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { cause: CancelCause::Token, .. }), "{error:?}");
    assert!(begin.elapsed() < SECOND, "{:?}", begin.elapsed());
    assert!(rig.events.started().is_empty());
    assert_eq!(rig.log.live_children(), 0);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_wedged_start_is_dropped_after_the_grace() {
    let token = CancellationToken::new();
    let rig = Rig::new(Script::new().hang().in_start());
    let mut start = rig.provider.start(Request::new("go").cancellation(token.clone()));
    poll_pending(&mut start).await;
    let begin = Instant::now();
    token.cancel();
    let error = start.await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { .. }), "{error:?}");
    assert_eq!(begin.elapsed(), GRACE);
    assert_eq!(rig.log.live_children(), 0);
    assert!(rig.events.started().is_empty());
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_comes_to_be_after_the_cancel_is_disposed_of() {
    let token = CancellationToken::new();
    let rig = Rig::new(Script::new().ignore_cancel().wait(SECOND).in_start().complete("ran"));
    let mut start = rig.provider.start(Request::new("go").cancellation(token.clone()));
    poll_pending(&mut start).await;
    token.cancel();
    let error = start.await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { .. }), "{error:?}");
    assert_eq!((rig.log.live_children(), rig.log.disposals()), (0, 1));
    assert!(rig.events.started().is_empty());
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_a_late_child_is_disposed_of_stays_inside() {
    let token = CancellationToken::new();
    let cancelled = token.clone();
    let (subagents, provider, events) = registered(Custom::new(move |_, settlement| {
        cancelled.cancel();
        let cancellation = settlement.cancellation();
        async move {
            cancellation.cancelled().await;
            drop(settlement);
            // Panics in the call, not in the future.
            Ok(CustomRun::new().on_dispose(|| -> std::future::Ready<_> { panic!("in the call") }))
        }
    }));
    let error = provider.start(Request::new("go").cancellation(token)).await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { .. }), "{error:?}");
    assert!(events.started().is_empty());
    subagents.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_wedged_start_whose_parts_panic_when_dropped_stays_inside() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("while it was dropped");
        }
    }
    let token = CancellationToken::new();
    let (subagents, provider, events) = registered(Custom::new(|_, settlement| async move {
        let _held = (settlement, Bomb);
        std::future::pending().await
    }));
    let mut start = provider.start(Request::new("go").cancellation(token.clone()));
    poll_pending(&mut start).await;
    token.cancel();
    let error = start.await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { .. }), "{error:?}");
    assert!(events.started().is_empty());
    subagents.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_start_that_completes_and_is_cancelled_before_publication_leaves_no_child() {
    // Settled inside `start`, and cancelled there.
    let token = CancellationToken::new();
    let cancelled = token.clone();
    let (subagents, provider, events) = registered(Custom::new(move |_, settlement| {
        let token = cancelled.clone();
        async move {
            let cancellation = settlement.cancellation();
            settlement.complete("done");
            token.cancel();
            cancellation.cancelled().await;
            Ok(CustomRun::new())
        }
    }));
    let error = provider.start(Request::new("go").cancellation(token)).await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { .. }), "{error:?}");
    assert!(events.started().is_empty() && events.ended().is_empty());
    subagents.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn what_completed_in_spite_of_a_cancel_stays_completed() {
    let rig = Rig::new(Script::new().ignore_cancel().wait(SECOND).complete("made it"));
    let run = rig.start().await;
    run.cancel("too late");
    let result = in_time(run.collect()).await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Completed, "made it"));
    assert_eq!(result.diagnostic(), None);
    assert_eq!(rig.events.reasons(), [StopReason::Completed]);
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_owns_every_other_outcome() {
    let endings: [fn(Script) -> Script; 8] = [
        |script| script.settle(Outcome::error("failed")),
        |script| script.settle(Outcome::new(StopReason::Refusal)),
        |script| script.settle(Outcome::new(StopReason::MaxTokens)),
        |script| script.settle(Outcome::new(StopReason::TurnLimit)),
        |script| script.settle(Outcome::new(StopReason::TimeLimit)),
        |script| script.settle(Outcome::new(StopReason::Other("acme".into()))),
        Script::lose_settlement,
        |script| script.panic("scripted"),
    ];
    for ending in endings {
        let go = Arc::new(Notify::new());
        let script = ending(Script::new().ignore_cancel().wait_for(&go));
        let shown = format!("{script:?}");
        let rig = Rig::new(script);
        let run = rig.start().await;
        run.cancel("stop");
        go.notify_one();
        let result = in_time(run.collect()).await.into_result().unwrap();
        assert_eq!(result.stop_reason(), &StopReason::Aborted, "{shown}");
        assert!(result.diagnostic().is_some());
        assert_eq!(rig.events.reasons(), [StopReason::Aborted], "{shown}");
        rig.leaves_nothing().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_cancels_by_id() {
    let rig = Rig::new(talks());
    let run = rig.start().await;
    let_others_run().await;
    let control = rig.subagents.control(run.id()).unwrap();
    control.cancel("seen enough");
    control.settled().await;
    assert_eq!(control.state(), RunState::Settled);
    let result = in_time(run.collect()).await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "so far"));
    assert_eq!(result.diagnostic(), Some("cancelled: seen enough"));
    // The view outlives the run and keeps nothing alive.
    control.cancel("again");
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_listener_may_cancel_the_run_that_ends() {
    let rig = Rig::new(Script::new().complete("done"));
    let seen = rig.subagents.clone();
    let _subscription = rig.subagents.subscribe(move |event| {
        if let Event::Ended(ended) = event {
            seen.control(ended.run.run_id).unwrap().cancel("too late");
        }
    });
    let result = rig.start().await.collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Completed);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_waker_may_cancel_the_run_that_woke_it() {
    use std::task::{Context, Wake, Waker};

    struct Cancels(subagent::RunControl);
    impl Wake for Cancels {
        fn wake(self: Arc<Self>) {
            self.0.cancel("from a waker");
        }
    }

    let rig = Rig::new(Script::new().wait(SECOND).text("woke it"));
    let run = rig.start().await;
    let control = rig.subagents.control(run.id()).unwrap();
    let waker = Waker::from(Arc::new(Cancels(control)));
    let mut updates = Box::pin(run.updates());
    let polled = futures::Stream::poll_next(updates.as_mut(), &mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    let result = run.result().await.unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "woke it"));
    assert_eq!(result.diagnostic(), Some("cancelled: from a waker"));
    run.dispose().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_is_replaced_may_own_the_run() {
    use std::task::{Context, Wake, Waker};

    struct Owns(#[expect(dead_code, reason = "held for its drop")] Box<dyn std::any::Any + Send + Sync>);
    impl Wake for Owns {
        fn wake(self: Arc<Self>) {}
    }

    let rig = Rig::new(talks());
    let run = rig.start().await;
    let_others_run().await;
    let control = rig.subagents.control(run.id()).unwrap();
    let mut updates = Box::pin(run.updates());
    let owner = Waker::from(Arc::new(Owns(Box::new(run))));
    let mut poll = |waker: &Waker| {
        futures::Stream::poll_next(updates.as_mut(), &mut Context::from_waker(waker)).is_pending()
    };
    assert!(!poll(&owner));
    assert!(poll(&owner));
    drop(owner);
    // The last reference to the waker goes, and the run with it: cancelled from inside of its own lock, it would hang.
    assert!(poll(Waker::noop()));
    control.settled().await;
    assert_eq!(rig.events.reasons(), [StopReason::Aborted]);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_inbox_drops_a_message_that_cancels_outside_of_its_lock() {
    use subagent::{ContentBlock, ProviderBlock, ProviderContent, SnapshotError, SteerError};

    struct CancelsOnDrop(subagent::RunControl);
    impl ProviderContent for CancelsOnDrop {
        fn kind(&self) -> &'static str {
            "acme/bomb"
        }
        fn snapshot(&self) -> Result<serde_json::Map<String, serde_json::Value>, SnapshotError> {
            Ok(serde_json::Map::new())
        }
    }
    impl Drop for CancelsOnDrop {
        fn drop(&mut self) {
            self.0.cancel("its message was dropped");
        }
    }

    let (sender_to_test, from_provider) = std::sync::mpsc::channel();
    let sender_to_test = std::sync::Mutex::new(sender_to_test);
    let (subagents, provider, _events) = registered(Custom::new(move |_, settlement| {
        let (sender, inbox) = settlement.inbox();
        drop(inbox);
        sender_to_test.lock().unwrap().send(sender).unwrap();
        let child = tokio::spawn(async move {
            settlement.cancellation().cancelled().await;
            settlement.settle(Outcome::new(StopReason::Aborted));
        });
        async move {
            Ok(CustomRun::new()
                .on_dispose(|| async move { child.await.map_err(subagent::DisposeError::failed) }))
        }
    }));
    let run = provider.start(Request::new("go")).await.unwrap();
    let control = subagents.control(run.id()).unwrap();
    let block = ContentBlock::Provider(ProviderBlock::new(CancelsOnDrop(control)));
    let refused = from_provider.recv().unwrap().send(vec![block]);
    assert!(matches!(refused, Err(SteerError::Settled)));
    let result = in_time(run.collect()).await.into_result().unwrap();
    assert_eq!(result.diagnostic(), Some("cancelled: its message was dropped"));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_from_the_drop_of_what_the_run_holds_does_not_deadlock() {
    struct CancelsOnDrop(std::sync::Mutex<Option<subagent::Cancellation>>, CancellationToken);
    impl Drop for CancelsOnDrop {
        fn drop(&mut self) {
            self.1.cancel();
            assert!(self.0.lock().unwrap().take().unwrap().is_cancelled());
        }
    }

    let token = CancellationToken::new();
    let held = token.clone();
    let (subagents, provider, events) = registered(Custom::new(move |_, settlement| {
        let cancellation = std::sync::Mutex::new(Some(settlement.cancellation()));
        let held = CancelsOnDrop(cancellation, held.clone());
        let run = CustomRun::new().holding(held).holding(std::sync::Mutex::new(settlement));
        async move { Ok(run) }
    }));
    let run = provider.start(Request::new("go").cancellation(token)).await.unwrap();
    run.dispose().await.unwrap();
    subagents.shutdown().await;
    assert_eq!(events.reasons(), [StopReason::Aborted]);
}

#[tokio::test(start_paused = true)]
async fn siblings_are_independent() {
    let subagents = Subagents::new();
    let events = Events::of(&subagents);
    let provider = ScriptedProvider::playing([
        Script::new().settle(Outcome::error("failed")),
        Script::new().panic("scripted"),
        Script::new().lose_settlement(),
        Script::new().hang(),
        Script::new().wait(SECOND).complete("well done"),
    ]);
    let rig = Rig::with(subagents, provider);
    let token = CancellationToken::new();
    let request = Request::new("go").parent(&parent().with_cancellation(token.clone()));
    let mut runs = Vec::new();
    for _ in 0..5 {
        runs.push(rig.started(request.clone()).await.unwrap());
    }
    let last = runs.pop().unwrap();
    let wedged = runs.pop().unwrap();
    wedged.cancel("hangs");
    let result = last.collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Completed, "well done"));
    let mut ends = Vec::new();
    for run in runs {
        ends.push(in_time(run.collect()).await.result.map(|result| result.stop_reason().clone()).ok());
    }
    assert_eq!(ends, [Some(StopReason::Error), Some(StopReason::Error), None]);
    assert_eq!(wedged.collect().await.into_result().unwrap().stop_reason(), &StopReason::Aborted);
    assert!(!token.is_cancelled());
    assert_eq!(events.started().len(), 5);
    rig.leaves_nothing().await;
}

/// Every provider in this crate, and every form of handle: one cancel ends the run as aborted.
#[tokio::test(start_paused = true)]
async fn a_cancel_works_for_every_provider_and_by_name() {
    use subagent::testing::{ScriptedModel, ScriptedReply};

    let subagents = Subagents::new();
    let events = Events::of(&subagents);
    let model = ScriptedModel::new().then_always(ScriptedReply::new().text("…").hang());
    let _spawn = subagents.register("spawn", Spawn::new(model)).unwrap();
    let _scripted = subagents.register("scripted", ScriptedProvider::new(talks())).unwrap();
    let shared = Arc::new(ScriptedProvider::new(talks()));
    let _shared = subagents.register("shared", shared).unwrap();
    let metered = acme_agents::Metered::new(acme_agents::Metered::new(ScriptedProvider::new(talks())));
    let _metered = subagents.register("metered", metered).unwrap();
    let closure = provider_fn(async |context| {
        context.cancellation.cancelled().await;
        Outcome::new(StopReason::Aborted)
    });
    let _closure = subagents.register("closure", closure).unwrap();
    let deaf = provider_fn(async |_| std::future::pending::<String>().await);
    let _deaf = subagents.register("deaf", deaf).unwrap();
    let custom = Custom::new(|_, settlement| async move {
        let child = tokio::spawn(async move {
            settlement.cancellation().token().cancelled().await;
            settlement.settle(Outcome::error("interrupted"));
        });
        Ok(CustomRun::new().on_dispose(|| async move { child.await.map_err(subagent::DisposeError::failed) }))
    });
    let _custom = subagents.register("custom", custom).unwrap();

    for provider in subagents.list() {
        let run = provider.start(Request::new("go")).await.unwrap();
        let_others_run().await;
        run.cancel("stop");
        let collected = in_time(run.collect()).await;
        collected.disposal.unwrap();
        let result = collected.result.unwrap();
        assert_eq!(result.stop_reason(), &StopReason::Aborted, "{}", provider.name());
    }
    subagents.shutdown().await;
    events.are_paired();
    assert_eq!(events.reasons().len(), 7);
}
