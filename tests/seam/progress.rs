use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use subagent::testing::{Script, ScriptedProvider};
use subagent::{ContentBlock, ModelUsage, Outcome, Request, Update, Updates};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::support::{Wakes, by_hand, registered, scripted};

fn all_kinds() -> Vec<Update> {
    vec![
        Update::thought("hmm"),
        Update::text("Let me look."),
        Update::tool_call("1", "read", json!({"path": "a.txt"})),
        Update::tool_result("1", vec![ContentBlock::text("42")], false),
        Update::Usage(ModelUsage::new("large", 10, 2)),
        Update::Other { kind: "acme/plan".into(), data: json!(["look", "answer"]) },
        Update::text("42"),
        Update::MessageEnd,
    ]
}

async fn texts(updates: &mut Updates) -> Vec<String> {
    updates
        .map(|update| match update {
            Ok(update) => match &*update {
                Update::Text { text } => text.clone(),
                other => format!("{other:?}"),
            },
            Err(missed) => format!("missed {}", missed.count),
        })
        .collect()
        .await
}

#[tokio::test]
async fn every_watcher_gets_every_update_and_then_the_end() {
    let go = Arc::new(Notify::new());
    let script = all_kinds().into_iter().fold(Script::new().wait_for(&go), Script::update);
    let (subagents, handle, _log) = scripted(ScriptedProvider::new(script.complete("42")));
    let run = handle.start(Request::new("work")).await.unwrap();
    let early = run.updates();
    let by_control = subagents.control(run.id()).unwrap().updates();
    go.notify_one();
    let (one, other) = tokio::join!(early.collect::<Vec<_>>(), by_control.collect::<Vec<_>>());
    let seen: Vec<_> = one.into_iter().map(|update| (*update.unwrap()).clone()).collect();
    assert_eq!(seen, all_kinds());
    assert_eq!(other.len(), seen.len());

    let settled = run.settle().await;
    let late: Vec<_> = settled.updates().map(|update| (*update.unwrap()).clone()).collect().await;
    assert_eq!(late, all_kinds(), "a watcher that comes after the end reads what is kept");
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn what_is_reported_within_start_is_not_lost() {
    let script = Script::new().text("I am ").in_start().text("alive").complete("done");
    let (_subagents, handle, _log) = scripted(ScriptedProvider::new(script));
    let run = handle.start(Request::new("work")).await.unwrap();
    let mut updates = run.updates();
    assert_eq!(texts(&mut updates).await, ["I am ", "alive"]);
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn a_slow_watcher_learns_how_much_it_missed_and_slows_nobody() {
    let (provider, mut settlements) = by_hand();
    let (_subagents, handle) = registered(provider);
    let run = handle.start(Request::new("work")).await.unwrap();
    let settlement = settlements.recv().await.unwrap();
    let progress = settlement.progress();
    let (mut slow, mut fast) = (run.updates(), run.updates());
    let mut read_fast = Vec::new();
    for n in 0..10_000 {
        // Nothing is awaited here: whoever does not read cannot hold the child up.
        progress.text(n.to_string());
        read_fast.extend(fast.next().await);
    }
    settlement.complete("done");
    assert!(read_fast.iter().all(Result::is_ok) && read_fast.len() == 10_000, "the fast one missed nothing");

    let seen = texts(&mut slow).await;
    let missed: usize = seen[0].strip_prefix("missed ").expect("it is told first").parse().unwrap();
    assert!(missed > 0);
    let expected: Vec<_> = (missed..10_000).map(|n| n.to_string()).collect();
    assert_eq!(seen[1..], expected, "then it goes on with the oldest that is kept, in order, without a gap");
    let late = texts(&mut run.updates()).await;
    assert_eq!(late, seen, "one who comes late learns the same");
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn what_is_kept_of_large_updates_is_bounded_in_bytes() {
    let (provider, mut settlements) = by_hand();
    let (_subagents, handle) = registered(provider);
    let run = handle.start(Request::new("work")).await.unwrap();
    let settlement = settlements.recv().await.unwrap();
    for _ in 0..100 {
        settlement.progress().text("x".repeat(64 * 1024));
    }
    settlement.complete("done");
    let mut updates = run.updates();
    let missed = updates.next().await.unwrap().unwrap_err();
    assert!(missed.count > 90, "{missed:?}");
    assert!(missed.to_string().starts_with(&missed.count.to_string()), "{missed}");
    assert!(updates.next().await.unwrap().is_ok(), "the latest are there");
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn a_watcher_that_leaves_disturbs_nobody() {
    let (provider, mut settlements) = by_hand();
    let (_subagents, handle) = registered(provider);
    let run = handle.start(Request::new("work")).await.unwrap();
    let settlement = settlements.recv().await.unwrap();
    let (mut stays, mut leaves) = (run.updates(), run.updates());
    let (left, waker) = Wakes::new();
    assert!(leaves.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending());
    let (woken, waker) = Wakes::new();
    assert!(stays.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending());
    drop(leaves);
    settlement.progress().text("hello");
    assert_eq!((left.count(), woken.count()), (0, 1));
    assert!(!run.cancellation().is_cancelled(), "watching is not owning");
    settlement.complete("done");
    assert_eq!(texts(&mut stays).await, ["hello"]);
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn a_stream_ends_although_the_run_failed_as_infrastructure() {
    let (provider, mut settlements) = by_hand();
    let (_subagents, handle) = registered(provider);
    let run = handle.start(Request::new("work")).await.unwrap();
    let settlement = settlements.recv().await.unwrap();
    settlement.progress().text("so far");
    let mut updates = run.updates();
    drop(settlement);
    assert_eq!(texts(&mut updates).await, ["so far"]);
    assert!(updates.next().await.is_none(), "and stays ended");
    run.dispose().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_last_activity_is_that_of_the_last_report() {
    let (provider, mut settlements) = by_hand();
    let (subagents, handle) = registered(provider);
    let begun = Instant::now();
    let run = handle.start(Request::new("work")).await.unwrap();
    let control = subagents.control(run.id()).unwrap();
    assert_eq!(control.last_activity(), Some(begun));
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(control.last_activity(), Some(begun), "time alone is no activity");
    let settlement = settlements.recv().await.unwrap();
    settlement.progress().report(Update::thought("hmm"));
    assert_eq!(control.last_activity(), Some(begun + Duration::from_secs(5)));
    settlement.settle(Outcome::completed("done"));
    run.dispose().await.unwrap();
}
