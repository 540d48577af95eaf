//! Several children of one parent at once: independent of each other, and no more than the host allows.

use std::num::NonZeroUsize;
use std::sync::Arc;

use serde_json::json;
use subagent::agent::{ModelError, ToolSet};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{CancelCause, ProviderHandle, Request, Spawn, StartError, StopReason, Subagents};
use tokio::sync::Barrier;
use tokio_util::sync::CancellationToken;

use super::support::{conversation, delegate, parent, registered, says};

fn capped(most: usize, model: &ScriptedModel) -> (Subagents, ProviderHandle<Spawn>) {
    let subagents = Subagents::builder().max_concurrent(NonZeroUsize::new(most).unwrap()).build();
    let spawn = subagents.register("spawn", Spawn::new(model.clone())).unwrap().leave_registered();
    (subagents, spawn)
}

#[tokio::test]
async fn children_of_one_parent_run_at_the_same_time_each_with_its_own_log() {
    // Each child waits for all others: one after the other they would never end.
    let together = Arc::new(Barrier::new(3));
    let meet = subagent::agent::tool_fn("meet", "Waits for the others.", json!({}), move |_, _| {
        let together = Arc::clone(&together);
        async move {
            together.wait().await;
            "met"
        }
    });
    let model = ScriptedModel::new().then_always_with(|request| match conversation(request).as_slice() {
        [asked] => says(asked).tool_call("1", "meet", json!({})),
        [asked, ..] => says(&format!("done, {asked}")),
        [] => says("nothing"),
    });
    let (_subagents, spawn) = registered(Spawn::new(model));
    let top = parent().with_tools(ToolSet::new().with(meet).unwrap());
    let mut runs = Vec::new();
    for task in ["a", "b", "c"] {
        runs.push(spawn.start(Request::new(task).parent(&top)).await.unwrap());
    }
    let results = futures::future::join_all(runs.into_iter().map(|run| async {
        let settled = run.settle().await;
        assert_eq!(super::support::prompts(settled.run().session()), 1);
        let text = settled.result().unwrap().text().into_owned();
        settled.dispose().await.unwrap();
        text
    }));
    assert_eq!(results.await, ["done, user: a", "done, user: b", "done, user: c"]);
}

#[tokio::test]
async fn a_failed_or_cancelled_child_does_not_touch_its_siblings() {
    let model = ScriptedModel::new().then_always_with(|request| match conversation(request)[0].as_str() {
        "user: fail" => ScriptedReply::new().error(ModelError::other("broken")),
        "user: hang" => says("…").hang(),
        "user: panic" => ScriptedReply::new().panic(),
        other => says(other),
    });
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let mut runs = Vec::new();
    for task in ["fail", "hang", "panic", "work"] {
        runs.push(spawn.start(Request::new(task).parent(&parent())).await.unwrap());
    }
    model.called(4).await;
    runs[1].cancel("this one only");
    let reasons = futures::future::join_all(
        runs.into_iter()
            .map(|run| async { run.collect().await.into_result().unwrap().stop_reason().clone() }),
    );
    let (error, aborted, completed) = (StopReason::Error, StopReason::Aborted, StopReason::Completed);
    assert_eq!(reasons.await, [error.clone(), aborted, error, completed]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_cleanup_does_not_hold_a_sibling() {
    let stubborn = subagent::agent::tool_fn("work", "Never ends.", json!({}), async |_, _| {
        std::future::pending::<&str>().await
    });
    let model = ScriptedModel::new().then_always_with(|request| match conversation(request)[0].as_str() {
        "user: stick" => ScriptedReply::new().tool_call("1", "work", json!({})),
        other => says(other).delay(std::time::Duration::from_millis(10)),
    });
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let top = parent().with_tools(ToolSet::new().with(stubborn).unwrap());
    let stuck = spawn.start(Request::new("stick").parent(&top)).await.unwrap();
    let busy = spawn.start(Request::new("work").parent(&top)).await.unwrap();
    model.called(2).await;
    let begin = tokio::time::Instant::now();
    let (cleanup, work) = tokio::join!(
        async {
            stuck.dispose().await.unwrap();
            begin.elapsed()
        },
        async {
            assert!(busy.collect().await.into_result().unwrap().is_completed());
            begin.elapsed()
        }
    );
    assert!(work.as_millis() < 100 && cleanup.as_millis() >= 500, "{work:?}, {cleanup:?}");
}

#[tokio::test]
async fn no_more_than_the_cap_run_at_once_and_the_others_follow() {
    let model = ScriptedModel::new().then_always(says("…").hang());
    let (subagents, spawn) = capped(2, &model);
    let first = spawn.start(Request::new("1")).await.unwrap();
    let second = spawn.start(Request::new("2")).await.unwrap();
    let mut third = begun(spawn.start(Request::new("3")));
    assert!(third.poll_once().await.is_none());
    assert_eq!((subagents.runs().len(), model.requests().len() <= 2), (2, true));
    // A settled run makes room, although it is not disposed of.
    first.cancel("enough");
    let first = first.settle().await;
    let third = third.finish().await.unwrap();
    assert_eq!(subagents.runs().len(), 2);
    second.dispose().await.unwrap();
    third.dispose().await.unwrap();
    first.dispose().await.unwrap();
}

#[tokio::test]
async fn a_queued_start_can_be_cancelled_and_leaves_no_trace() {
    let model = ScriptedModel::new().then_always(says("…").hang());
    let (subagents, spawn) = capped(1, &model);
    let (events, _subscription) = super::support::recorded(&subagents);
    let first = spawn.start(Request::new("1")).await.unwrap();
    let token = CancellationToken::new();
    let mut queued = begun(spawn.start(Request::new("2").cancellation(token.clone())));
    assert!(queued.poll_once().await.is_none());
    token.cancel();
    let error = queued.finish().await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { cause: CancelCause::Token, .. }), "{error:?}");
    // Dropped in the queue, a start gives its place up too.
    let mut dropped = begun(spawn.start(Request::new("3")));
    assert!(dropped.poll_once().await.is_none());
    drop(dropped);
    assert_eq!(spawn.provider().sessions().len(), 1);
    first.dispose().await.unwrap();
    let last = spawn.start(Request::new("4")).await.unwrap();
    last.dispose().await.unwrap();
    assert_eq!(events.lock().unwrap().len(), 4);
    subagents.shutdown().await;
}

#[tokio::test]
async fn a_resumption_waits_for_room_too() {
    let model = ScriptedModel::new().reply(says("one")).reply(says("…").hang()).reply(says("two"));
    let (_subagents, spawn) = capped(1, &model);
    let settled = spawn.start(Request::new("1")).await.unwrap().settle().await;
    let other = spawn.start(Request::new("2")).await.unwrap();
    model.called(2).await;
    let mut resumed = begun(settled.resume("more"));
    assert!(resumed.poll_once().await.is_none());
    other.dispose().await.unwrap();
    let Ok(run) = resumed.finish().await else { panic!("not resumed") };
    assert_eq!(run.collect().await.into_result().unwrap().text(), "two");
}

#[tokio::test]
async fn children_that_wait_for_children_do_not_lock_each_other_out() {
    let model = ScriptedModel::new().then_always_with(|request| {
        match conversation(request).last().map(String::as_str) {
            Some("user: top") => ScriptedReply::new().tool_call("1", "delegate", json!({})),
            Some("user: work") => says("worked"),
            _ => says("done"),
        }
    });
    let (_subagents, spawn) = capped(1, &model);
    let top = parent().with_tools(ToolSet::new().with(delegate("delegate", &spawn)).unwrap());
    let request = || Request::new("top").parent(&top);
    let collect = async || spawn.start(request()).await.unwrap().collect().await.into_result().unwrap();
    let (one, other) = tokio::join!(collect(), collect());
    assert!(one.is_completed() && other.is_completed());
}

/// A future that can be polled once and awaited later.
struct Polled<F>(std::pin::Pin<Box<F>>);

fn begun<F: Future>(future: F) -> Polled<F> {
    Polled(Box::pin(future))
}

impl<F: Future> Polled<F> {
    async fn poll_once(&mut self) -> Option<F::Output> {
        futures::future::poll_fn(|context| match self.0.as_mut().poll(context) {
            std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
            std::task::Poll::Pending => std::task::Poll::Ready(None),
        })
        .await
    }

    async fn finish(self) -> F::Output {
        self.0.await
    }
}
