//! Ends that come from outside: cancelled, disposed of, dropped. None leaves a child behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use subagent::agent::{SessionEventKind, ToolSet, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{CancelCause, Event, Parent, Request, Spawn, StartError, StopReason};
use tokio_util::sync::CancellationToken;

use super::support::{delegate, parent, prompts, recorded, registered, says, tools};

fn hanging() -> ScriptedModel {
    ScriptedModel::new().then_always(says("so far").hang())
}

#[tokio::test]
async fn a_token_that_has_fired_never_starts_a_child() {
    let model = hanging();
    let (subagents, spawn) = registered(Spawn::new(model.clone()));
    let (events, _subscription) = recorded(&subagents);
    let token = CancellationToken::new();
    token.cancel();
    let error = spawn.start(Request::new("go").cancellation(token)).await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { cause: CancelCause::Token, .. }), "{error:?}");
    assert!(model.requests().is_empty() && events.lock().unwrap().is_empty());
    assert!(spawn.provider().sessions().is_empty());
}

#[tokio::test]
async fn a_parent_that_has_ended_starts_no_child() {
    let model = hanging();
    let (subagents, spawn) = registered(Spawn::new(model.clone()));
    let (events, _subscription) = recorded(&subagents);
    let ended = CancellationToken::new();
    ended.cancel();
    let top = parent().with_cancellation(ended);
    let error = spawn.start(Request::new("go").parent(&top)).await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { cause: CancelCause::Token, .. }), "{error:?}");
    assert!(events.lock().unwrap().is_empty());

    // A tool call that left its context behind: the call has ended, so nobody would wait for the child.
    let kept = Arc::new(std::sync::Mutex::new(None));
    let keep = Arc::clone(&kept);
    let tool = tool_fn("keep", "Keeps its context.", json!({}), move |_, context| {
        *keep.lock().unwrap() = Some(Parent::from(&context));
        async { "kept" }
    });
    let above = ScriptedModel::new().reply(super::support::calls("keep")).reply(says("done"));
    let (_subagents, over) =
        registered(Spawn::builder().default_model(above).tools(ToolSet::new().with(tool).unwrap()).build());
    over.start(Request::new("go")).await.unwrap().collect().await.into_result().unwrap();
    let gone = kept.lock().unwrap().take().unwrap();
    let error = spawn.start(Request::new("go").parent(&gone)).await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { cause: CancelCause::Token, .. }), "{error:?}");
    assert!(events.lock().unwrap().is_empty() && model.requests().is_empty());
    assert!(spawn.provider().sessions().is_empty());
}

#[tokio::test]
async fn a_dropped_handle_takes_the_grandchildren_along() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})))
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})))
        .then_always(says("deep").hang());
    let (subagents, spawn) = registered(Spawn::new(model.clone()));
    let (events, _subscription) = recorded(&subagents);
    let top = parent().with_tools(ToolSet::new().with(delegate("delegate", &spawn)).unwrap());
    let run = spawn.start(Request::new("go").parent(&top)).await.unwrap();
    model.called(3).await;
    assert_eq!(spawn.provider().sessions().len(), 3);
    drop(run);
    // Nobody waits for them: they end by themselves.
    while !spawn.provider().sessions().is_empty() || !subagents.runs().is_empty() {
        tokio::task::yield_now().await;
    }
    let events = events.lock().unwrap();
    let ended =
        |event: &&Event| matches!(event, Event::Ended(ended) if ended.stop_reason == StopReason::Aborted);
    assert_eq!((events.len(), events.iter().filter(ended).count()), (6, 3));
}

#[tokio::test]
async fn a_cancel_before_the_first_turn_is_aborted_and_the_prompt_never_runs() {
    let model = hanging();
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let run = spawn.start(Request::new("go")).await.unwrap();
    run.cancel("changed my mind");
    let settled = run.settle().await;
    let result = settled.result().unwrap();
    assert_eq!((result.stop_reason(), result.output().len()), (&StopReason::Aborted, 0));
    assert_eq!(result.diagnostic(), Some("cancelled: changed my mind"));
    assert!(model.requests().is_empty());
    assert_eq!(prompts(settled.run().session()), 0);
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn a_cancel_while_the_child_streams_keeps_the_text() {
    for reason in ["enough", ""] {
        let model = hanging();
        let (_subagents, spawn) = registered(Spawn::new(model.clone()));
        let start = spawn.start(Request::new("go"));
        // Known before there is a child, so that an interrupted one can be named.
        let id = start.run_id();
        let run = start.await.unwrap();
        assert_eq!(Some(run.id()), id);
        model.called(1).await;
        run.cancel(reason);
        let result = run.collect().await.into_result().unwrap();
        assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Aborted, "so far"));
    }
}

#[tokio::test]
async fn the_requests_token_cancels_while_the_child_streams() {
    let model = hanging();
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let token = CancellationToken::new();
    let run = spawn.start(Request::new("go").cancellation(token.clone())).await.unwrap();
    model.called(1).await;
    token.cancel();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Aborted);
}

#[tokio::test]
async fn a_disposal_in_the_middle_aborts_the_run_and_ends_the_child() {
    let model = hanging();
    let (subagents, spawn) = registered(Spawn::new(model.clone()));
    let (events, _subscription) = recorded(&subagents);
    let run = spawn.start(Request::new("go")).await.unwrap();
    let session = run.run().session().clone();
    model.called(1).await;
    run.dispose().await.unwrap();
    assert!(spawn.provider().sessions().is_empty() && subagents.runs().is_empty());
    // The log is closed: the turn ended in an orderly way before `dispose` returned.
    let last = session.snapshot().events().last().unwrap().kind.clone();
    assert_eq!(last, SessionEventKind::TurnEnd { reason: StopReason::Aborted });
    let events = events.lock().unwrap();
    let [Event::Started(_), Event::Ended(ended)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(ended.stop_reason, StopReason::Aborted);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_ignores_its_cancellation_does_not_hold_the_disposal() {
    let stubborn =
        tool_fn("work", "Never ends.", json!({}), async |_, _| std::future::pending::<&str>().await);
    let model = ScriptedModel::new().reply(ScriptedReply::new().tool_call("1", "work", json!({})));
    let (_subagents, spawn) = registered(
        Spawn::builder().default_model(model.clone()).tools(ToolSet::new().with(stubborn).unwrap()).build(),
    );
    let run = spawn.start(Request::new("go")).await.unwrap();
    model.called(1).await;
    let begin = tokio::time::Instant::now();
    run.dispose().await.unwrap();
    assert!(begin.elapsed() <= Duration::from_secs(1), "{:?}", begin.elapsed());
    assert!(spawn.provider().sessions().is_empty());
}

/// Counts the calls of its tool that are running.
fn counted(running: &Arc<AtomicUsize>) -> ToolSet {
    struct Running(Arc<AtomicUsize>);
    impl Drop for Running {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let running = Arc::clone(running);
    let work = tool_fn("work", "Never ends.", json!({}), move |_, _| {
        running.fetch_add(1, Ordering::SeqCst);
        let running = Running(Arc::clone(&running));
        async move {
            let _running = running;
            std::future::pending::<&str>().await
        }
    });
    ToolSet::new().with(work).unwrap()
}

#[tokio::test]
async fn a_dropped_handle_ends_the_child() {
    let running = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new().reply(ScriptedReply::new().tool_call("1", "work", json!({})));
    let (subagents, spawn) =
        registered(Spawn::builder().default_model(model.clone()).tools(counted(&running)).build());
    let run = spawn.start(Request::new("go")).await.unwrap();
    while running.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    drop(run);
    subagents.shutdown().await;
    assert_eq!(running.load(Ordering::SeqCst), 0);
    assert!(spawn.provider().sessions().is_empty());
}

#[test]
fn a_handle_that_outlives_its_runtime_leaves_no_child() {
    let running = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new().reply(ScriptedReply::new().tool_call("1", "work", json!({})));
    let (subagents, spawn) =
        registered(Spawn::builder().default_model(model.clone()).tools(counted(&running)).build());
    let (events, _subscription) = recorded(&subagents);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let run = runtime.block_on(async {
        let run = spawn.start(Request::new("go")).await.unwrap();
        while running.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        run
    });
    drop(runtime);
    drop(run);
    assert_eq!(running.load(Ordering::SeqCst), 0);
    assert!(spawn.provider().sessions().is_empty());
    let ended = events.lock().unwrap().iter().filter(|event| matches!(event, Event::Ended(_))).count();
    assert_eq!(ended, 1);
}

#[tokio::test]
async fn cancelling_a_parent_reaches_its_grandchildren() {
    // Every agent of the tree delegates, but for the deepest, which hangs.
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})))
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})))
        .then_always(says("deep").hang());
    let (subagents, spawn) = registered(Spawn::new(model.clone()));
    let (events, _subscription) = recorded(&subagents);
    let offered = ToolSet::new().with(delegate("delegate", &spawn)).unwrap();
    let token = CancellationToken::new();
    let top = parent().with_tools(offered).with_cancellation(token.clone());
    let run = spawn.start(Request::new("go").parent(&top)).await.unwrap();
    model.called(3).await;
    assert_eq!(subagents.runs().len(), 3);
    token.cancel();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Aborted);
    assert!(subagents.runs().is_empty() && spawn.provider().sessions().is_empty());
    let reasons: Vec<_> = events
        .lock()
        .unwrap()
        .iter()
        .filter_map(|event| match event {
            Event::Ended(ended) => Some((ended.run.depth, ended.stop_reason.clone())),
            _ => None,
        })
        .collect();
    let aborted = StopReason::Aborted;
    assert_eq!(reasons, [(3, aborted.clone()), (2, aborted.clone()), (1, aborted)]);
}

#[tokio::test]
async fn cancelling_a_child_stays_with_it() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})))
        .reply(says("deep").hang())
        .reply(says("went on without it"));
    let (subagents, spawn) = registered(Spawn::new(model.clone()));
    let offered = ToolSet::new().with(delegate("delegate", &spawn)).unwrap();
    let run = spawn.start(Request::new("go").parent(&parent().with_tools(offered))).await.unwrap();
    model.called(2).await;
    let deepest = subagents.runs().into_iter().max_by_key(|run| run.info().depth).unwrap();
    deepest.cancel("not this one");
    let result = run.collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Completed, "went on without it"));
}

#[tokio::test]
async fn shutting_down_ends_every_child() {
    let model = hanging();
    let (subagents, spawn) =
        registered(Spawn::builder().default_model(model.clone()).tools(tools(&["read"])).build());
    let first = spawn.start(Request::new("go")).await.unwrap();
    let second = spawn.start(Request::new("go")).await.unwrap();
    model.called(2).await;
    subagents.shutdown().await;
    for run in [first, second] {
        let collected = run.collect().await;
        assert_eq!(collected.result.unwrap().stop_reason(), &StopReason::Aborted);
        collected.disposal.unwrap();
    }
    assert!(spawn.provider().sessions().is_empty());
}
