//! Tasks that go on while their parent does: started, waited for, listed, told of.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use subagent::delegation::{ChildState, SubagentTool};
use subagent::testing::{Script, ScriptedProvider};
use subagent::{Outcome, StopReason, Subagents};
use tokio::sync::Notify;

use crate::support::{Loop, ends_with, framed, id_in, recorded, said, scripted, toolset};

fn after(seconds: u64, output: &str) -> Script {
    Script::new().wait(Duration::from_secs(seconds)).complete(output)
}

#[tokio::test(start_paused = true)]
async fn a_wait_hands_each_outcome_out_once_and_consumes_its_notice() {
    let (_subagents, provider, log) = scripted([after(1, "one"), after(2, "two")]);
    let parent = Loop::new(toolset(&provider));
    let (one, two) = (parent.start("first").await, parent.start("second").await);
    let output = parent.call("wait_agent", json!({})).await;
    let text = said(&output);
    assert!(
        !output.is_error && framed(&text) == "one" && text.contains(&format!("Still at work: {two}.")),
        "{text}"
    );
    let again = parent.call("wait_agent", json!({"agent_ids": [one.to_string()]})).await;
    assert!(!again.is_error && said(&again).contains("told their outcome already"), "{again:?}");
    assert!(parent.notices().is_empty());
    assert!(parent.delegations.wait().await);
    let notices = parent.notices();
    assert_eq!((notices.len(), framed(&notices[0])), (1, "two"));
    let last = parent.call("wait_agent", json!({})).await;
    assert_eq!(said(&last), "You have no agent to wait for.");
    assert!(parent.delegations.is_settled() && parent.notices().is_empty());
    parent.delegations.close().await;
    assert_eq!((log.disposals(), log.live_children()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_bounded_and_its_limit_is_a_normal_answer() {
    let (_subagents, provider, _) = scripted([after(3600, "late")]);
    let parent = Loop::new(toolset(&provider));
    let id = parent.start("slow").await;
    let began = tokio::time::Instant::now();
    let output = parent.call("wait_agent", json!({"timeout_seconds": 5})).await;
    assert_eq!(began.elapsed().as_secs(), 5);
    assert!(!output.is_error, "{output:?}");
    assert_eq!(said(&output), format!("Nothing has ended within 5 s. Still at work: {id}."));
    // Without a limit of its own, and with one that is too large, there is one.
    for (arguments, seconds) in [(json!({}), 120), (json!({"timeout_seconds": 999_999}), 600)] {
        let began = tokio::time::Instant::now();
        assert!(!parent.call("wait_agent", arguments).await.is_error);
        assert_eq!(began.elapsed().as_secs(), seconds);
    }
    // It is pushed, not polled for: the wait ends with the child.
    let began = tokio::time::Instant::now();
    let parent_waits = async {
        loop {
            let output = parent.call("wait_agent", json!({"timeout_seconds": 600})).await;
            if said(&output).contains("completed") {
                return output;
            }
        }
    };
    assert_eq!(framed(&said(&parent_waits.await)), "late");
    assert_eq!(began.elapsed().as_secs(), 3600 - 725);
}

#[tokio::test(start_paused = true)]
async fn failures_come_on_the_same_path_as_successes_and_in_the_order_of_their_ends() {
    let (_subagents, provider, _) = scripted([
        Script::new().wait(Duration::from_secs(3)).panic("the child broke"),
        Script::new().wait(Duration::from_secs(1)).lose_settlement(),
        after(2, "fine"),
        ends_with(StopReason::Refusal),
        Script::new().hang(),
    ]);
    let tools = SubagentTool::builder(&provider)
        .child(|request| request.time_limit(Duration::from_secs(4)))
        .in_background()
        .build();
    let parent = Loop::new(tools);
    for task in ["panics", "loses", "works", "declines", "hangs"] {
        parent.start(task).await;
    }
    let mut told = Vec::new();
    while parent.delegations.wait().await {
        told.extend(parent.notices());
    }
    let expected = ["declined the task", "has no result", "completed", "panicked", "ran out of time"];
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "`{expected}` is not in: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_has_every_child_that_works_or_was_not_told_of() {
    let (_subagents, provider, _) = scripted([
        after(1, "first"),
        Script::new().text("hello").wait(Duration::from_secs(9)).complete("second"),
        Script::new().wait(Duration::from_mins(1)).in_start().complete("third"),
    ]);
    let parent = Loop::new(SubagentTool::builder(&provider).in_background().build());
    let ids = [parent.start("a").await, parent.start("b").await, parent.start("c").await];
    tokio::time::sleep(Duration::from_secs(4)).await;
    let list = said(&parent.call("list_agents", json!({})).await);
    let line =
        |id| list.lines().find(|line| line.starts_with(&format!("{id} (scripted)"))).unwrap_or_default();
    assert!(line(ids[0]).contains("ended, `wait_agent` hands out its outcome"), "{list}");
    assert!(line(ids[1]).contains("at work, last active 4 s ago"), "{list}");
    assert!(line(ids[2]).contains("starting") && line(ids[2]).contains("Task: a task"), "{list}");
    let states: Vec<_> = parent.delegations.list().into_iter().map(|child| child.state).collect();
    assert_eq!(states, [ChildState::Undelivered, ChildState::Live, ChildState::Starting]);
    // Told, and nothing can come of it any more: it is off the list.
    parent.call("wait_agent", json!({})).await;
    let list = said(&parent.call("list_agents", json!({})).await);
    assert!(!list.contains(&ids[0].to_string()) && list.contains(&ids[1].to_string()), "{list}");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_stopped_while_it_starts_never_works() {
    let (subagents, provider, log) = scripted([Script::new().wait(Duration::from_mins(1)).in_start()]);
    let (events, _subscription) = recorded(&subagents);
    let parent = Loop::new(toolset(&provider));
    let id = parent.start("a").await;
    let output =
        parent.call("interrupt_agent", json!({"agent_id": id.to_string(), "reason": "wrong task"})).await;
    let text = said(&output);
    assert!(text.contains("it was cancelled") && text.contains("before it began: wrong task"), "{text}");
    assert!(text.ends_with(&format!("Stopped: {id}.")), "{text}");
    assert!(parent.notices().is_empty() && parent.delegations.is_settled());
    assert_eq!(log.live_children(), 0);
    assert!(events.lock().unwrap().iter().all(|event| !matches!(event, subagent::Event::Started(_))));
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_is_told_at_once_or_as_a_notice() {
    let late = Script::new().wait(Duration::from_secs(1)).fail_start("no such command");
    let (_subagents, provider, log) = scripted([Script::new().fail_start("no disk"), late]);
    let parent = Loop::new(toolset(&provider));
    let output = parent.call("subagent", crate::support::background_task("a")).await;
    assert!(
        output.is_error
            && said(&output).contains("could not be started")
            && said(&output).contains("no disk")
    );
    assert!(parent.delegations.list().is_empty());
    parent.start("b").await;
    assert!(parent.delegations.wait().await);
    let notices = parent.notices();
    assert!(
        notices[0].contains("it failed. Diagnostic: it could not begin")
            && notices[0].contains("no such command")
    );
    assert_eq!((notices.len(), log.live_children()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_stopped_child_whose_cleanup_fails_is_not_called_cleanly_stopped() {
    let (_subagents, provider, _) = scripted([Script::new()
        .text("so far")
        .wait(Duration::from_mins(1))
        .fail_dispose("the process lives on")]);
    let parent = Loop::new(toolset(&provider));
    let id = parent.start("a").await;
    tokio::task::yield_now().await;
    let text =
        said(&parent.call("interrupt_agent", json!({"agent_id": id.to_string(), "reason": "enough"})).await);
    assert!(text.contains("cancelled: enough") && text.contains("the process lives on"), "{text}");
    assert_eq!(framed(&text), "so far");
}

#[tokio::test(start_paused = true)]
async fn only_children_that_work_count_against_the_limit() {
    let (_subagents, provider, log) = scripted([after(5, "one"), after(50, "two"), after(1, "three")]);
    let parent =
        Loop::new(SubagentTool::builder(&provider).in_background().max_live(2).followup_agent().build());
    let other = Loop::new(SubagentTool::builder(&provider).in_background().max_live(2).build());
    let one = parent.start("a").await;
    let two = parent.start("b").await;
    let refused = parent.call("subagent", crate::support::background_task("c")).await;
    assert!(refused.is_error, "{refused:?}");
    for way_out in ["2 of your agents are at work", "`wait_agent`", "`interrupt_agent`"] {
        assert!(said(&refused).contains(way_out), "{refused:?}");
    }
    // Each agent has a limit of its own.
    other.start("theirs").await;
    // One that has settled counts no more, whether or not its outcome was told and though it is kept.
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(parent.delegations.list()[0].state, ChildState::Undelivered);
    parent.start("c").await;
    // What is asked to stop counts until it has.
    parent.call("interrupt_agent", json!({"agent_id": two.to_string()})).await;
    parent.start("d").await;
    // Stopping again, and what has ended, changes nothing.
    for id in [one, two] {
        assert!(!parent.call("interrupt_agent", json!({"agent_id": id.to_string()})).await.is_error);
    }
    parent.delegations.close().await;
    other.delegations.close().await;
    parent.delegations.close().await;
    assert_eq!(log.live_children(), 0);
}

#[tokio::test(start_paused = true)]
async fn children_that_wait_for_their_turn_block_nobody() {
    let subagents = Subagents::builder().max_concurrent(NonZeroUsize::MIN).build();
    let go = Arc::new(Notify::new());
    let first = Script::new().wait_for(&go).complete("first");
    let provider = ScriptedProvider::playing([first, Script::new().complete("second")]);
    let provider = subagents.register("scripted", provider).unwrap();
    let parent = Loop::new(toolset(&provider));
    let starts = ["a", "b", "c", "d", "e"].map(|task| parent.start(task));
    let ids = futures::future::join_all(starts).await;
    assert_eq!(parent.delegations.list()[4].state, ChildState::Starting);
    go.notify_one();
    let mut told = Vec::new();
    while parent.delegations.wait().await {
        told.extend(parent.notices());
    }
    assert_eq!(told.len(), ids.len());
}

#[tokio::test(start_paused = true)]
async fn two_that_end_together_are_both_told() {
    let (_subagents, provider, _) = scripted([after(1, "done")]);
    let parent = Loop::new(toolset(&provider));
    for _ in 0..19 {
        parent.start("a").await;
        if parent.delegations.list().len() == 16 {
            break;
        }
    }
    assert!(parent.delegations.wait().await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!parent.delegations.is_settled(), "they have ended, and are not told");
    assert_eq!(parent.notices().len(), 16);
    assert!(parent.delegations.is_settled());
}

#[tokio::test(start_paused = true)]
async fn an_outcome_is_kept_until_it_is_told_however_late() {
    let long = "x".repeat(100_000);
    let (_subagents, provider, _) = scripted([after(1, &long), after(1, "short")]);
    let parent = Loop::new(toolset(&provider));
    let id = parent.start("a").await;
    for _ in 0..10 {
        parent.start("b").await;
    }
    tokio::time::sleep(Duration::from_hours(2)).await;
    let notices = parent.notices();
    assert_eq!(id_in(&notices[0]), id);
    tokio::time::sleep(Duration::from_hours(2)).await;
    let arguments = json!({"agent_id": id.to_string(), "offset": 99_000});
    assert_eq!(framed(&said(&parent.call("read_result", arguments).await)).len(), 1000);
}

#[tokio::test(start_paused = true)]
async fn a_notice_comes_only_after_settlement_and_updates_before_it() {
    let go = Arc::new(Notify::new());
    let script =
        Script::new().text("I am done.").wait(Duration::from_secs(76)).settle(Outcome::completed("really"));
    let (_subagents, provider, _) = scripted([script]);
    let parent = Loop::new(toolset(&provider));
    parent.start("a").await;
    tokio::time::sleep(Duration::from_secs(75)).await;
    assert!(parent.notices().is_empty(), "it still works");
    go.notify_one();
    assert!(parent.delegations.wait().await);
    assert_eq!(framed(&parent.notices()[0]), "really");
}
