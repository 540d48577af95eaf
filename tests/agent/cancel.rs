//! Cancelling a turn: whatever it had reached is `Aborted`, and what was said is kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use subagent::agent::{FinishReason, Inbox, ModelEvent, ToolSet, TurnOptions, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{ModelUsage, StopReason, Update};
use tokio_util::sync::CancellationToken;

use super::support::{agent, prompt, words};

#[tokio::test]
async fn a_turn_that_is_cancelled_before_it_begins_leaves_no_trace() {
    let model = ScriptedModel::new();
    let mut agent = agent(&model, ToolSet::new());
    let token = CancellationToken::new();
    token.cancel();
    let inbox = Inbox::new();
    inbox.send(prompt("waiting")).unwrap();
    let options = TurnOptions::new().cancellation(token).inbox(inbox.clone());
    let outcome = agent.run_turn(prompt("go"), options).await;
    assert_eq!(outcome.stop_reason, StopReason::Aborted);
    assert!(outcome.output.is_empty() && model.requests().is_empty() && agent.session().is_empty());
    assert_eq!(outcome.undelivered, [prompt("waiting")]);
    assert!(inbox.is_closed());
}

#[tokio::test]
async fn text_that_was_streamed_before_a_cancel_is_the_output() {
    let model =
        ScriptedModel::new().reply(ScriptedReply::new().text("So far ").text("so good").usage(3, 4).hang());
    let mut agent = agent(&model, ToolSet::new());
    let token = CancellationToken::new();
    let cancel = token.clone();
    let options = TurnOptions::new().cancellation(token).on_update(move |update| {
        if matches!(update, Update::Usage(_)) {
            cancel.cancel();
        }
    });
    let outcome = agent.run_turn(prompt("go"), options).await;
    assert_eq!(outcome.stop_reason, StopReason::Aborted);
    assert_eq!(outcome.output.to_text(), "So far so good");
    assert_eq!(outcome.usage.own, [ModelUsage::new("scripted", 3, 4)]);
    assert_eq!(
        words(agent.session().snapshot().events()),
        ["turn", "user:go", "step", "assistant:So far so good", "step-end", "end:aborted"]
    );
}

#[tokio::test]
async fn a_cancel_beats_the_completion_that_it_meets() {
    let model = ScriptedModel::new().reply(ScriptedReply::new().text("Done."));
    let mut agent = agent(&model, ToolSet::new());
    let token = CancellationToken::new();
    let cancel = token.clone();
    // The last update of a turn that is about to complete.
    let options = TurnOptions::new().cancellation(token).on_update(move |update| {
        if update == Update::MessageEnd {
            cancel.cancel();
        }
    });
    let outcome = agent.run_turn(prompt("go"), options).await;
    assert_eq!((outcome.stop_reason, outcome.output.to_text().as_ref()), (StopReason::Aborted, "Done."));
}

#[tokio::test]
async fn no_model_call_follows_a_cancel_during_a_tool() {
    let token = CancellationToken::new();
    let cancel = token.clone();
    let tool = tool_fn("cancel", "Cancels.", json!({}), move |_, _| {
        cancel.cancel();
        async { "cancelled" }
    });
    let model =
        ScriptedModel::new().reply(ScriptedReply::new().text("Calling.").tool_call("1", "cancel", json!({})));
    let mut agent = agent(&model, ToolSet::new().with(tool).unwrap());
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new().cancellation(token)).await;
    assert_eq!((outcome.stop_reason, outcome.output.to_text().as_ref()), (StopReason::Aborted, "Calling."));
    assert_eq!(model.requests().len(), 1);
    assert_eq!(
        words(agent.session().snapshot().events())[4..],
        ["call:1:cancel", "result:1:cancelled", "step-end", "end:aborted"]
    );
}

#[tokio::test(start_paused = true)]
async fn tools_hear_of_a_cancel_and_those_that_do_not_end_are_dropped() {
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&dropped);
    let polite = tool_fn("polite", "Ends when told.", json!({}), async |_, context| {
        context.cancellation.cancelled().await;
        "stopped"
    });
    let stubborn = tool_fn("stubborn", "Never ends.", json!({}), move |_, _| {
        let guard = OnDrop(Arc::clone(&flag));
        async move {
            let _guard = guard;
            std::future::pending::<&str>().await
        }
    });
    let tools = ToolSet::new().with(polite).unwrap().with(stubborn).unwrap();
    let model = ScriptedModel::new().reply(
        ScriptedReply::new().tool_call("1", "polite", json!({})).tool_call("2", "stubborn", json!({})),
    );
    let mut agent = agent(&model, tools);
    let token = CancellationToken::new();
    let cancel = token.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    let begin = tokio::time::Instant::now();
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new().cancellation(token)).await;
    assert_eq!(outcome.stop_reason, StopReason::Aborted);
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert!(dropped.load(Ordering::Relaxed));
    let log = words(agent.session().snapshot().events());
    assert!(log.contains(&"result:1:stopped".into()), "{log:?}");
    assert!(log.iter().any(|word| word.starts_with("error:2:")), "{log:?}");
}

#[tokio::test]
async fn an_endless_model_that_never_waits_can_be_cancelled() {
    let model = ScriptedModel::new().reply(ScriptedReply::new().endless(""));
    let mut agent = agent(&model, ToolSet::new());
    let token = CancellationToken::new();
    let cancel = token.clone();
    let canceller = tokio::spawn(async move { cancel.cancel() });
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new().cancellation(token)).await;
    assert_eq!(outcome.stop_reason, StopReason::Aborted);
    canceller.await.unwrap();
}

#[tokio::test]
async fn a_dropped_turn_is_closed_by_the_next_one() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "hang", json!({})))
        .reply(ScriptedReply::new().text("Fine."));
    let tool = tool_fn("hang", "Hangs.", json!({}), async |_, _| std::future::pending::<&str>().await);
    let mut agent = agent(&model, ToolSet::new().with(tool).unwrap());
    let (called, was_called) = tokio::sync::oneshot::channel();
    let called = std::sync::Mutex::new(Some(called));
    let options = TurnOptions::new().on_update(move |update| {
        if matches!(update, Update::ToolCall { .. }) {
            called.lock().unwrap().take().unwrap().send(()).unwrap();
        }
    });
    tokio::select! {
        biased;
        _ = agent.run_turn(prompt("one"), options) => unreachable!(),
        _ = was_called => {}
    }
    let outcome = agent.run_turn(prompt("two"), TurnOptions::new()).await;
    assert_eq!(outcome.output.to_text(), "Fine.");
    let log = words(agent.session().snapshot().events());
    assert!(
        log.contains(&"end:aborted".into()) && log.iter().any(|word| word.starts_with("error:1:")),
        "{log:?}"
    );
}

struct OnDrop(Arc<AtomicBool>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn a_cancel_beats_the_limit_that_it_meets() {
    let reply = ScriptedReply::new().text("So far.").event(ModelEvent::tool_call("1", "none", &json!({})));
    let model = ScriptedModel::new().reply(reply.finish(FinishReason::MaxTokens));
    let token = CancellationToken::new();
    let cancel = token.clone();
    // The last update of a turn that is about to end at its limit.
    let options = TurnOptions::new().cancellation(token).on_update(move |update| {
        if matches!(update, Update::ToolResult { .. }) {
            cancel.cancel();
        }
    });
    let outcome = agent(&model, ToolSet::new()).run_turn(prompt("go"), options).await;
    assert_eq!((outcome.stop_reason, outcome.output.to_text().as_ref()), (StopReason::Aborted, "So far."));
}
