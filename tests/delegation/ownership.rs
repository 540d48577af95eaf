//! Who owns a child: its parent, until it is closed, or the child is given away.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use subagent::delegation::{DetachError, NewOwner, SubagentTool};
use subagent::testing::Script;
use subagent::{Event, RunId, StopReason};
use tokio::sync::Notify;

use crate::support::{Loop, framed, recorded, said, scripted, toolset};

#[tokio::test]
async fn an_id_alone_gives_no_authority() {
    let (_subagents, provider, _) = scripted([Script::new().wait(Duration::from_mins(10))]);
    let (owner, stranger) = (Loop::new(toolset(&provider)), Loop::new(toolset(&provider)));
    let id = owner.start("a").await.to_string();
    let own = stranger.start("b").await.to_string();
    for (tool, arguments) in [
        ("wait_agent", json!({"agent_ids": [id]})),
        ("interrupt_agent", json!({"agent_id": id})),
        ("send_message", json!({"agent_id": id, "message": "hello"})),
        ("followup_agent", json!({"agent_id": id, "prompt": "hello"})),
        ("read_result", json!({"agent_id": id})),
    ] {
        let output = stranger.call(tool, arguments).await;
        assert!(output.is_error, "{tool}");
        assert_eq!(said(&output), format!("You have no agent {id}. Your agents are: {own}."));
    }
    assert!(!said(&stranger.call("list_agents", json!({})).await).contains(&id));
    assert!(!stranger.delegations.cancel(id.parse().unwrap(), "no"));
    assert_eq!(owner.delegations.list().len(), 1);
    owner.delegations.close().await;
    stranger.delegations.close().await;
}

#[tokio::test]
async fn closing_ends_every_child_and_a_dropped_owner_leaves_none() {
    let (subagents, provider, log) = scripted([
        Script::new().complete("kept"),
        Script::new().wait(Duration::from_mins(10)),
        Script::new().wait(Duration::from_mins(10)),
        Script::new().wait(Duration::from_mins(10)),
    ]);
    let (events, _subscription) = recorded(&subagents);
    for closes in [true, false] {
        let parent = Loop::new(toolset(&provider));
        parent.start("kept for a follow-up").await;
        parent.start("works").await;
        while log.live_children() < 2 || parent.delegations.is_settled() {
            tokio::task::yield_now().await;
        }
        if closes {
            parent.delegations.close().await;
            assert_eq!(log.live_children(), 0);
            let refused = parent.call("subagent", crate::support::background_task("late")).await;
            assert!(refused.is_error && said(&refused).contains("being closed"), "{refused:?}");
        } else {
            drop(parent);
        }
    }
    subagents.shutdown().await;
    assert_eq!(log.live_children(), 0);
    let events = events.lock().unwrap();
    let (started, ended): (Vec<_>, Vec<_>) = events
        .iter()
        .filter(|event| matches!(event, Event::Started(_) | Event::Ended(_)))
        .partition(|event| matches!(event, Event::Started(_)));
    assert_eq!(started.len(), ended.len());
}

#[tokio::test]
async fn a_detached_child_is_told_to_its_new_owner() {
    let go = Arc::new(Notify::new());
    let (_subagents, provider, _) = scripted([Script::new().wait_for(&go).complete("done")]);
    let (old, new) = (Loop::new(toolset(&provider)), Loop::new(toolset(&provider)));
    let id = old.start("a").await;
    old.delegations.detach(id, NewOwner::Agent(&new.delegations)).unwrap();
    assert!(old.delegations.is_settled() && !new.delegations.is_settled());
    old.delegations.close().await;
    go.notify_one();
    assert!(new.delegations.wait().await);
    assert_eq!(framed(&new.notices()[0]), "done");

    let unknown = old.delegations.detach(id, NewOwner::Subagents).unwrap_err();
    assert_eq!(unknown.code(), "UNKNOWN_CHILD");
    let other = new.start("b").await;
    let closed = new.delegations.detach(other, NewOwner::Agent(&old.delegations)).unwrap_err();
    assert_eq!(closed, DetachError::OwnerClosed { id: other });
    assert!(new.delegations.list().iter().any(|child| child.id == other), "it stays where it was");
    new.delegations.close().await;
}

#[tokio::test]
async fn a_child_that_is_left_to_the_subagents_lives_until_their_shutdown() {
    let (subagents, provider, log) = scripted([Script::new().wait(Duration::from_mins(10))]);
    let (events, _subscription) = recorded(&subagents);
    let parent = Loop::new(SubagentTool::builder(&provider).in_background().build());
    let id: RunId = parent.start("a").await;
    parent.delegations.detach(id, NewOwner::Subagents).unwrap();
    parent.delegations.close().await;
    drop(parent);
    while subagents.runs().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!((subagents.runs()[0].id(), log.live_children()), (id, 1));
    subagents.shutdown().await;
    assert_eq!(log.live_children(), 0);
    let events = events.lock().unwrap();
    let Some(Event::Ended(ended)) = events.iter().find(|event| matches!(event, Event::Ended(_))) else {
        panic!("no end")
    };
    assert_eq!((ended.run.run_id, &ended.stop_reason), (id, &StopReason::Aborted));
}

#[tokio::test]
async fn a_shutdown_ends_what_works_in_the_background_and_tells_its_parent() {
    let (subagents, provider, log) = scripted([Script::new().wait(Duration::from_mins(10))]);
    let parent = Loop::new(toolset(&provider));
    parent.start("a").await;
    subagents.shutdown().await;
    assert!(parent.delegations.wait().await);
    assert!(parent.notices()[0].contains("shutting down"));
    parent.delegations.close().await;
    assert_eq!(log.live_children(), 0);
}
