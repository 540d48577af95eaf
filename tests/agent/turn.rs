//! One turn of the built-in agent: steps, updates, output, usage, errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::json;
use subagent::agent::{
    FinishReason, ModelError, ModelEvent, SessionEventKind, ToolOutput, ToolSet, TurnOptions, tool_fn,
};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{ContentBlock, ModelUsage, StopReason, Update};

use super::support::{agent, conversation, prompt, watched, words};

fn echo() -> ToolSet {
    let echo = tool_fn("echo", "Repeats.", json!({"type": "object"}), async |arguments, _| {
        arguments["text"].as_str().unwrap_or("nothing").to_owned()
    });
    ToolSet::new().with(echo).unwrap()
}

#[tokio::test]
async fn a_turn_gives_the_models_answer() {
    let model = ScriptedModel::new().reply(ScriptedReply::new().text("For").text("ty-two"));
    let mut agent = agent(&model, ToolSet::new());
    let outcome = agent.run_turn(prompt("What is six times seven?"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    assert_eq!(outcome.output.to_text(), "Forty-two");
    assert_eq!((outcome.steps, outcome.diagnostic), (1, None));
    assert_eq!(
        words(agent.session().snapshot().events()),
        ["turn", "user:What is six times seven?", "step", "assistant:Forty-two", "step-end", "end:completed"]
    );
    assert_eq!(agent.session().header().model.as_deref(), Some("scripted"));
}

#[tokio::test]
async fn tool_results_go_back_to_the_model_until_it_is_done() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().text("Looking.").tool_call("1", "echo", json!({"text": "one"})))
        .reply(ScriptedReply::new().tool_call("2", "echo", json!({"text": "two"})))
        .reply(ScriptedReply::new().text("Done."));
    let mut agent = agent(&model, echo());
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!((outcome.output.to_text().as_ref(), outcome.steps), ("Done.", 3));
    assert_eq!(
        conversation(&model.requests()[2]),
        [
            "user: go",
            "assistant: Looking.[1 echo]",
            "results: [1 one]",
            "assistant: [2 echo]",
            "results: [2 two]"
        ]
    );
}

#[tokio::test]
async fn updates_tell_the_whole_turn_in_order() {
    let model = ScriptedModel::new()
        .reply(
            ScriptedReply::new()
                .thought("hm")
                .text("Look")
                .text("ing.")
                .tool_call("1", "echo", json!({"text": "one"}))
                .usage(10, 5),
        )
        .reply(ScriptedReply::new().text("Done."));
    let (options, updates) = watched();
    agent(&model, echo()).run_turn(prompt("go"), options).await;
    assert_eq!(
        *updates.lock().unwrap(),
        [
            Update::thought("hm"),
            Update::text("Look"),
            Update::text("ing."),
            Update::Usage(ModelUsage::new("scripted", 10, 5)),
            Update::MessageEnd,
            Update::tool_call("1", "echo", json!({"text": "one"})),
            Update::tool_result("1", vec![ContentBlock::text("one")], false),
            Update::text("Done."),
            Update::MessageEnd,
        ]
    );
}

#[tokio::test]
async fn calls_of_one_response_run_together_and_answer_in_order() {
    let first_may_end = Arc::new(tokio::sync::Notify::new());
    let released = Arc::clone(&first_may_end);
    let tools = ToolSet::new()
        .with(tool_fn("first", "Waits for the second.", json!({}), move |_, _| {
            let released = Arc::clone(&released);
            async move {
                released.notified().await;
                "first"
            }
        }))
        .unwrap()
        .with(tool_fn("second", "Releases the first.", json!({}), move |_, _| {
            first_may_end.notify_one();
            async { "second" }
        }))
        .unwrap();
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("a", "first", json!({})).tool_call("b", "second", json!({})))
        .reply(ScriptedReply::new().text("Both."));
    let outcome = agent(&model, tools).run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    assert_eq!(conversation(&model.requests()[1])[2], "results: [a first][b second]");
}

#[tokio::test]
async fn repeated_and_missing_call_ids_are_made_unique() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("x", "echo", json!({})).tool_call("x", "echo", json!({})))
        .reply(ScriptedReply::new().tool_call("x", "echo", json!({})).tool_call("", "echo", json!({})))
        .reply(ScriptedReply::new().text("ok"));
    let mut agent = agent(&model, echo());
    assert_eq!(agent.run_turn(prompt("go"), TurnOptions::new()).await.stop_reason, StopReason::Completed);
    let log = agent.session().snapshot();
    let mut ids: Vec<_> = log
        .events()
        .filter_map(|event| match &event.kind {
            SessionEventKind::ToolCall(call) => Some(call.id.clone()),
            _ => None,
        })
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn what_is_wrong_with_a_call_goes_back_to_the_model() {
    let malformed =
        ModelEvent::ToolCall { id: "1".into(), name: "echo".into(), arguments: "{\"text\": ".into() };
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().event(malformed).event(ModelEvent::tool_call("2", "delete", &json!({}))))
        .reply(ScriptedReply::new().text("I see."));
    let mut agent = agent(&model, echo());
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    let log = words(agent.session().snapshot().events());
    assert!(
        log.iter().any(|word| word.starts_with("error:1:The arguments are not a JSON object")),
        "{log:?}"
    );
    assert!(log.iter().any(|word| word.contains("no tool named `delete`. Known tools: echo")), "{log:?}");
}

#[tokio::test]
async fn a_misspelt_tool_in_a_script_fails_at_once_and_names_the_known_ones() {
    let model = ScriptedModel::new().then_always(ScriptedReply::new().tool_call("1", "ehco", json!({})));
    let mut agent = agent(&model, echo());
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Error);
    let told = outcome.diagnostic.unwrap_or_default();
    assert!(told.contains("`ehco`") && told.contains("offers: echo"), "{told}");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_filtered_tool_is_neither_shown_nor_executed() {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let tools = echo()
        .with(tool_fn("write", "Writes.", json!({}), move |_, _| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { "written" }
        }))
        .unwrap()
        .only(|name| name != "write");
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().event(ModelEvent::tool_call("1", "write", &json!({}))))
        .reply(ScriptedReply::new().text("ok"));
    agent(&model, tools).run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(model.requests()[0].tools.names().collect::<Vec<_>>(), ["echo"]);
    assert_eq!(runs.load(Ordering::Relaxed), 0);
    assert!(conversation(&model.requests()[1])[2].contains("There is no tool named `write`"));
}

#[tokio::test]
async fn panics_of_tools_and_models_are_contained() {
    let tools = ToolSet::new()
        .with(tool_fn("at-once", "Panics.", json!({}), |_, _| -> std::future::Ready<&str> {
            std::panic::resume_unwind(Box::new(1))
        }))
        .unwrap()
        .with(tool_fn("later", "Panics.", json!({}), async |_, _| -> ToolOutput {
            tokio::task::yield_now().await;
            std::panic::resume_unwind(Box::new(1))
        }))
        .unwrap();
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "at-once", json!({})).tool_call("2", "later", json!({})))
        .reply(ScriptedReply::new().text("Half an ans").panic());
    let mut agent = agent(&model, tools);
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    let results = &conversation(&model.requests()[1])[2];
    assert!(
        results.contains("`at-once` failed: it panicked") && results.contains("`later` failed: it panicked")
    );
    assert_eq!(outcome.stop_reason, StopReason::Error);
    assert_eq!(outcome.diagnostic.as_deref(), Some("the model panicked"));
    assert_eq!(outcome.output.to_text(), "Half an ans");
}

#[tokio::test]
async fn a_failing_model_ends_the_turn_and_keeps_text_and_usage() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().text("partial").usage(7, 2).error(ModelError::rate_limited(None)));
    let mut agent = agent(&model, ToolSet::new());
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Error);
    assert_eq!(outcome.output.to_text(), "partial");
    assert_eq!(outcome.diagnostic.as_deref(), Some("the model is rate limited"));
    assert_eq!(outcome.usage.own, [ModelUsage::new("scripted", 7, 2)]);
    assert_eq!(words(agent.session().snapshot().events()).last().unwrap(), "end:error");
}

#[tokio::test]
async fn a_model_that_fails_at_once_gives_an_error_without_output() {
    let model =
        ScriptedModel::new().reply(ScriptedReply::new().error(ModelError::bad_request("no such model")));
    let outcome = agent(&model, ToolSet::new()).run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Error);
    assert!(outcome.output.is_empty() && outcome.usage.is_empty());
    assert!(outcome.diagnostic.unwrap().contains("no such model"));
}

#[tokio::test]
async fn finish_reasons_become_stop_reasons() {
    for (finish, expected) in [
        (FinishReason::Stop, StopReason::Completed),
        (FinishReason::MaxTokens, StopReason::MaxTokens),
        (FinishReason::Refusal, StopReason::Refusal),
        (FinishReason::Other("odd".into()), StopReason::Error),
    ] {
        let model = ScriptedModel::new().reply(ScriptedReply::new().text("said").finish(finish));
        let outcome = agent(&model, ToolSet::new()).run_turn(prompt("go"), TurnOptions::new()).await;
        assert_eq!((outcome.stop_reason, outcome.output.to_text().as_ref()), (expected, "said"));
    }
    for (reply, expected) in [
        (ScriptedReply::new().text("said").cut(), StopReason::Error),
        (ScriptedReply::new().error(ModelError::refused("not this")), StopReason::Refusal),
    ] {
        let model = ScriptedModel::new().reply(reply);
        let outcome = agent(&model, ToolSet::new()).run_turn(prompt("go"), TurnOptions::new()).await;
        assert_eq!(outcome.stop_reason, expected);
        assert!(outcome.diagnostic.is_some());
    }
}

#[tokio::test]
async fn an_empty_last_message_does_not_hide_the_one_before() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().text("The answer.").tool_call("1", "echo", json!({})))
        .reply(ScriptedReply::new().text("\n").usage(1, 0));
    let outcome = agent(&model, echo()).run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    assert_eq!(outcome.output.to_text(), "The answer.");
}

#[tokio::test]
async fn what_a_tool_returned_is_never_the_agents_output() {
    for end in [
        ScriptedReply::new(),
        ScriptedReply::new().error(ModelError::other("broken")),
        ScriptedReply::new().finish(FinishReason::MaxTokens),
        ScriptedReply::new().cut(),
    ] {
        let model = ScriptedModel::new()
            .reply(ScriptedReply::new().tool_call("1", "echo", json!({"text": "raw tool output"})))
            .reply(end);
        let outcome = agent(&model, echo()).run_turn(prompt("go"), TurnOptions::new()).await;
        assert!(outcome.output.is_empty(), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_truncated_response_that_only_calls_tools_keeps_the_earlier_answer_and_runs_nothing() {
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let count = tool_fn("count", "Counts.", json!({}), move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { "counted" }
    });
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().text("So far.").tool_call("1", "count", json!({})))
        .reply(ScriptedReply::new().tool_call("2", "count", json!({})).finish(FinishReason::MaxTokens));
    let mut agent = agent(&model, ToolSet::new().with(count).unwrap());
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!((outcome.stop_reason, outcome.output.to_text().as_ref()), (StopReason::MaxTokens, "So far."));
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    let log = words(agent.session().snapshot().events());
    assert!(log.iter().any(|word| word.starts_with("error:2:The tool was not called")), "{log:?}");
}

#[tokio::test]
async fn a_silent_turn_never_gives_what_was_said_before_it() {
    let model = ScriptedModel::new().reply(ScriptedReply::new().text("First.")).reply(ScriptedReply::new());
    let mut agent = agent(&model, ToolSet::new());
    agent.run_turn(prompt("one"), TurnOptions::new()).await;
    let outcome = agent.run_turn(prompt("two"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    assert!(outcome.output.is_empty());
}

#[tokio::test]
async fn metadata_after_the_turn_changes_nothing() {
    let model = ScriptedModel::new().then_always(ScriptedReply::new().text("Yes."));
    let mut agent = agent(&model, ToolSet::new());
    let outcome = agent.run_turn(prompt("one"), TurnOptions::new()).await;
    agent.session_mut().append(SessionEventKind::Metadata { key: "rating".into(), value: json!(5) }).unwrap();
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    let second = agent.run_turn(prompt("two"), TurnOptions::new()).await;
    assert_eq!(second.output.to_text(), "Yes.");
    assert_eq!(conversation(&model.requests()[1]), ["user: one", "assistant: Yes.", "user: two"]);
}

#[tokio::test]
async fn usage_is_summed_per_model_and_each_turn_counts_its_own() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().usage(10, 1).tool_call("1", "echo", json!({})))
        .reply(ScriptedReply::new().text("a").usage(20, 2))
        .reply(ScriptedReply::new().text("b").usage(5, 5))
        .reply(ScriptedReply::new().text("c"));
    let mut agent = agent(&model, echo());
    let first = agent.run_turn(prompt("one"), TurnOptions::new()).await;
    let second = agent.run_turn(prompt("two"), TurnOptions::new()).await;
    let third = agent.run_turn(prompt("three"), TurnOptions::new()).await;
    assert_eq!(first.usage.own, [ModelUsage::new("scripted", 30, 3)]);
    assert_eq!(second.usage.own, [ModelUsage::new("scripted", 5, 5)]);
    assert!(third.usage.is_empty(), "unknown is absent, not 0");
}
