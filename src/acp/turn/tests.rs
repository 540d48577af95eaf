use serde_json::json;

use super::*;

fn running() -> (Turns, Begun) {
    let turns = Turns::new();
    turns.open("s");
    let begun = turns.begin().unwrap();
    (turns, begun)
}

fn chunk() -> Value {
    json!({
        "sessionId": "s",
        "update": { "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": "x" } },
    })
}

fn end_turn() -> Value {
    json!({ "stopReason": "end_turn" })
}

#[tokio::test]
async fn one_prompt_is_in_flight() {
    let (turns, begun) = running();
    assert_eq!(turns.begin().unwrap_err(), NoTurn::Busy);
    turns.answered(begun.number, Ok(end_turn())).await;
    assert!(turns.begin().is_ok());
}

#[tokio::test]
async fn only_a_running_turn_is_cancelled_and_only_once() {
    let (turns, begun) = running();
    assert!(turns.cancel());
    assert!(!turns.cancel());
    turns.answered(begun.number, Ok(end_turn())).await;
    assert!(!turns.cancel());
}

#[tokio::test]
async fn an_answer_to_an_earlier_turn_does_not_end_this_one() {
    let (turns, first) = running();
    turns.answered(first.number, Ok(end_turn())).await;
    let mut second = turns.begin().unwrap();
    turns.answered(first.number, Ok(end_turn())).await;
    turns.update(chunk()).await;
    assert!(matches!(second.events.recv().await, Some(TurnEvent::Update(_))));
}

#[tokio::test]
async fn what_comes_between_turns_belongs_to_none() {
    let (turns, mut first) = running();
    turns.answered(first.number, Ok(end_turn())).await;
    turns.update(chunk()).await;
    assert!(matches!(first.events.recv().await, Some(TurnEvent::Answered { stale: false, .. })));
    assert!(first.events.recv().await.is_none());
    let mut second = turns.begin().unwrap();
    turns.lost();
    assert!(second.events.recv().await.is_none());
    assert_eq!(turns.begin().unwrap_err(), NoTurn::Lost);
}

#[tokio::test]
async fn an_empty_end_is_stale_only_after_a_cancelled_or_failed_turn_and_only_at_once() {
    async fn second(cancelled: bool, wait: Duration, update: bool) -> bool {
        let (turns, first) = running();
        if cancelled {
            turns.cancel();
        }
        turns.answered(first.number, Ok(end_turn())).await;
        let mut second = turns.begin().unwrap();
        tokio::time::advance(wait).await;
        if update {
            turns.update(chunk()).await;
            second.events.recv().await.unwrap();
        }
        turns.answered(second.number, Ok(end_turn())).await;
        match second.events.recv().await {
            Some(TurnEvent::Answered { stale, .. }) => stale,
            other => panic!("{other:?}"),
        }
    }
    tokio::time::pause();
    assert!(second(true, Duration::ZERO, false).await);
    assert!(!second(false, Duration::ZERO, false).await);
    assert!(!second(true, STALE, false).await);
    assert!(!second(true, Duration::ZERO, true).await);
}

#[tokio::test]
async fn a_turn_given_up_poisons_its_session_until_that_is_opened_again() {
    let (turns, begun) = running();
    turns.cancel();
    turns.poison();
    assert_eq!(turns.begin().unwrap_err(), NoTurn::Poisoned);
    turns.answered(begun.number, Ok(end_turn())).await;
    assert_eq!(turns.begin().unwrap_err(), NoTurn::Poisoned);
    turns.begin_restoring("s").unwrap();
    turns.update(chunk()).await;
    assert_eq!(turns.end_restoring(true), 1);
    assert!(turns.begin().is_ok());
}

#[tokio::test]
async fn a_permission_is_held_only_while_a_turn_runs() {
    let (turns, begun) = running();
    let held = turns.permission().unwrap();
    assert!(turns.is_deciding() && !held.over.is_cancelled());
    turns.cancel();
    assert!(held.over.is_cancelled() && turns.permission().is_none());
    drop(held);
    assert!(!turns.is_deciding());
    turns.answered(begun.number, Ok(end_turn())).await;
    assert!(turns.permission().is_none());
}
