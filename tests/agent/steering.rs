//! Messages for a running turn: accepted means seen by the model, in order, once, or handed back.

use std::sync::Arc;

use serde_json::json;
use subagent::agent::{Inbox, ModelError, ToolSet, TurnOptions, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{StopReason, Update};
use tokio::sync::Notify;

use super::support::{agent, conversation, prompt};

#[tokio::test]
async fn messages_are_seen_between_two_steps_in_order() {
    let inbox = Inbox::new();
    let sender = inbox.clone();
    let tool = tool_fn("work", "Works.", json!({}), move |_, _| {
        sender.send(prompt("first")).unwrap();
        sender.send(prompt("second")).unwrap();
        async { "worked" }
    });
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "work", json!({})))
        .reply(ScriptedReply::new().text("Understood."));
    let mut agent = agent(&model, ToolSet::new().with(tool).unwrap());
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new().inbox(inbox.clone())).await;
    assert_eq!(
        conversation(&model.requests()[1]),
        ["user: go", "assistant: [1 work]", "results: [1 worked]", "user: first", "user: second"]
    );
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    assert!(outcome.undelivered.is_empty());
    assert_eq!(inbox.send(prompt("late")).unwrap_err().content, prompt("late"));
}

#[tokio::test]
async fn a_message_that_comes_with_the_last_word_is_still_seen() {
    let inbox = Inbox::new();
    let sender = inbox.clone();
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().text("Done."))
        .reply(ScriptedReply::new().text("Also done."));
    let sent = std::sync::Once::new();
    let options = TurnOptions::new().inbox(inbox).on_update(move |update| {
        if update == Update::MessageEnd {
            sent.call_once(|| sender.send(prompt("one more thing")).unwrap());
        }
    });
    let outcome = agent(&model, ToolSet::new()).run_turn(prompt("go"), options).await;
    assert_eq!(outcome.output.to_text(), "Also done.");
    assert_eq!(conversation(&model.requests()[1]), ["user: go", "assistant: Done.", "user: one more thing"]);
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn what_a_failed_turn_did_not_deliver_is_handed_back() {
    let inbox = Inbox::new();
    let go_on = Arc::new(Notify::new());
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().text("Hm").until(&go_on).error(ModelError::other("broken")));
    let mut agent = agent(&model, ToolSet::new());
    let options = TurnOptions::new().inbox(inbox.clone());
    let turn = tokio::spawn(async move { agent.run_turn(prompt("go"), options).await });
    model.called(1).await;
    inbox.send(prompt("a")).unwrap();
    inbox.send(prompt("b")).unwrap();
    go_on.notify_one();
    let outcome = turn.await.unwrap();
    assert_eq!(outcome.stop_reason, StopReason::Error);
    assert_eq!(outcome.undelivered, [prompt("a"), prompt("b")]);
    assert!(inbox.is_closed());
}

/// Many senders against many turns: what was accepted is in the conversation exactly once, in order, or undelivered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_accepted_message_is_lost_to_the_end_of_a_turn() {
    for _ in 0..200 {
        let inbox = Inbox::new();
        let model = ScriptedModel::new().then_always(ScriptedReply::new().text("ok"));
        let mut agent = agent(&model, ToolSet::new());
        let options = TurnOptions::new().inbox(inbox.clone());
        let turn = tokio::spawn(async move { agent.run_turn(prompt("go"), options).await });
        let mut accepted = Vec::new();
        for number in 0.. {
            let text = format!("m{number}");
            if number >= 20 || inbox.send(prompt(&text)).is_err() {
                break;
            }
            accepted.push(format!("user: {text}"));
            tokio::task::yield_now().await;
        }
        let outcome = turn.await.unwrap();
        assert_eq!(outcome.stop_reason, StopReason::Completed);
        let last = model.requests().pop().unwrap();
        let mut seen = conversation(&last);
        seen.retain(|message| message.starts_with("user: m"));
        assert_eq!(seen, accepted);
    }
}
