use std::sync::Arc;

use serde_json::json;
use subagent::testing::{Script, ScriptedProvider};
use subagent::{
    ContentBlock, Event, ModelUsage, NoOutput, Outcome, Output, Request, RunFault, StopReason,
    SubagentResult, Update, Usage,
};
use tokio::sync::Notify;

use crate::support::{Recorder, by_hand, chain, registered, scripted};

async fn result_of(script: Script) -> SubagentResult<NoOutput> {
    let (_subagents, handle, _log) = scripted(ScriptedProvider::new(script));
    handle.start(Request::new("work")).await.unwrap().collect().await.into_result().unwrap()
}

#[tokio::test]
async fn a_lost_settlement_ends_the_run_as_an_error_without_output() {
    let script = Script::new().text("said before").lose_settlement();
    let (subagents, handle, log) = scripted(ScriptedProvider::new(script));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work").agent_type("coder")).await.unwrap();
    let id = run.id();
    let settled = run.settle().await;
    let fault = settled.result().unwrap_err();
    assert_eq!(fault, RunFault::SettlementLost { run_id: id }, "the caller sees the fault itself");
    assert_eq!(fault.code(), "SETTLEMENT_LOST");
    assert!(fault.to_string().contains(&id.to_string()), "{fault}");
    let events = recorder.events();
    let Event::Ended(ended) = &events[1] else { panic!("{events:?}") };
    assert_eq!(ended.stop_reason, StopReason::Error);
    assert_eq!(ended.output, None);
    assert_eq!(ended.run.agent_type.as_deref(), Some("coder"));
    assert!(!serde_json::to_string(ended).unwrap().contains("output"));
    settled.dispose().await.unwrap();
    assert_eq!(log.live_children(), 0);
}

#[tokio::test]
async fn a_fault_and_a_failed_disposal_stay_apart() {
    let script = Script::new().lose_settlement().fail_dispose("a file is left");
    let (_subagents, handle, _log) = scripted(ScriptedProvider::new(script));
    let collected = handle.start(Request::new("work")).await.unwrap().collect().await;
    assert_eq!(collected.result.unwrap_err().code(), "SETTLEMENT_LOST");
    assert_eq!(chain(&collected.disposal.unwrap_err())[1], "a file is left");
}

#[tokio::test]
async fn each_stop_reason_arrives_as_it_was_given() {
    for reason in [
        StopReason::Completed,
        StopReason::Aborted,
        StopReason::Error,
        StopReason::Refusal,
        StopReason::MaxTokens,
        StopReason::TurnLimit,
        StopReason::TimeLimit,
        StopReason::Other("acme/stalled".into()),
    ] {
        let outcome = Outcome::new(reason.clone()).with_output("so far").with_diagnostic("because");
        let result = result_of(Script::new().settle(outcome)).await;
        assert_eq!(result.stop_reason(), &reason);
        assert_eq!(result.is_completed(), reason == StopReason::Completed);
        assert_eq!((result.text().as_ref(), result.diagnostic()), ("so far", Some("because")));
    }
}

#[tokio::test]
async fn a_turn_limit_is_no_success() {
    let (subagents, handle, _log) =
        scripted(ScriptedProvider::new(Script::new().settle(Outcome::new(StopReason::TurnLimit))));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let result = handle.start(Request::new("work")).await.unwrap().collect().await.into_result().unwrap();
    assert!(!result.is_completed());
    assert_eq!(result.stop_reason(), &StopReason::TurnLimit);
    assert_eq!(recorder.words(), ["started", "ended: turn_limit"]);
}

#[tokio::test]
async fn cancelled_before_it_settles_a_scripted_child_is_aborted() {
    let (_subagents, handle, _log) = scripted(ScriptedProvider::new(Script::new().text("so far")));
    let run = handle.start(Request::new("work")).await.unwrap();
    run.cancel("enough");
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Aborted);
    assert_eq!(result.diagnostic(), Some("cancelled: enough"));
}

#[tokio::test]
async fn many_wait_for_one_result_and_one_who_leaves_takes_nothing_along() {
    let go = Arc::new(Notify::new());
    let (_subagents, handle, _log) =
        scripted(ScriptedProvider::new(Script::new().wait_for(&go).complete("done")));
    let run = handle.start(Request::new("work")).await.unwrap();
    {
        let mut leaves = Box::pin(run.result());
        assert!(futures::poll!(&mut leaves).is_pending());
    }
    let (one, two, three, ()) =
        tokio::join!(run.result(), run.result(), run.result(), async { go.notify_one() });
    assert_eq!(one.as_ref().unwrap().text(), "done");
    assert!(one == two && two == three);
    assert_eq!(run.result().await.unwrap().text(), "done", "and once more");
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn the_output_is_the_last_message_that_says_something() {
    let call = |script: Script| script.tool_call("1", "read", json!({}));
    let cases: Vec<(&str, Script, &str)> = vec![
        ("nothing said", Script::new(), ""),
        ("pieces of one message", Script::new().text("Hel").text("lo"), "Hello"),
        ("the unfinished one counts", call(Script::new().text("First")).text("Sec"), "Sec"),
        ("a tool call ends a message", call(Script::new().text("Let me see.")), "Let me see."),
        (
            "a tool result ends one too",
            Script::new().text("One").update(Update::tool_result("1", Vec::new(), false)).text("Two"),
            "Two",
        ),
        ("so does its end", Script::new().text("One").update(Update::MessageEnd).text("Two"), "Two"),
        (
            "a blank last message is skipped",
            Script::new().text("Answer").update(Update::MessageEnd).text(" \n").update(Update::MessageEnd),
            "Answer",
        ),
        ("an empty last message is skipped", call(call(Script::new().text("Answer"))), "Answer"),
        ("blank text alone is nothing", Script::new().text(" \n"), ""),
        ("a thought is not said", Script::new().text("Answer").update(Update::thought("hmm")), "Answer"),
        (
            "nor does it end a message",
            Script::new().text("An").update(Update::thought("hmm")).text("swer"),
            "Answer",
        ),
        (
            "usage neither",
            Script::new().text("An").update(Update::Usage(ModelUsage::new("m", 1, 1))).text("swer"),
            "Answer",
        ),
    ];
    for reason in [StopReason::Completed, StopReason::Error] {
        for (case, script, output) in &cases {
            let (subagents, handle, _log) =
                scripted(ScriptedProvider::new(script.clone().settle(Outcome::new(reason.clone()))));
            let (recorder, _subscription) = Recorder::listen_to(&subagents);
            let run = handle.start(Request::new("work")).await.unwrap();
            let result = run.collect().await.into_result().unwrap();
            assert_eq!(result.text(), *output, "{case}");
            assert_eq!(result.output().is_empty(), output.is_empty(), "{case}");
            let events = recorder.events();
            let Event::Ended(ended) = &events[1] else { panic!("{events:?}") };
            let told = ended.output.as_ref().map(|output| output.to_text().into_owned());
            assert_eq!(
                told.as_deref(),
                Some(*output).filter(|text| !text.is_empty()),
                "{case}, in the event"
            );
        }
    }
}

#[tokio::test]
async fn the_providers_own_output_comes_first_unless_it_says_nothing() {
    let said = |outcome| result_of(Script::new().text("streamed").settle(outcome));
    assert_eq!(said(Outcome::completed("final")).await.text(), "final");
    assert_eq!(said(Outcome::completed("")).await.text(), "streamed");
    assert_eq!(said(Outcome::completed(Output::none())).await.text(), "streamed");
    let blank = vec![ContentBlock::text(""), ContentBlock::text(" \n")];
    assert_eq!(said(Outcome::completed(blank.clone())).await.text(), "streamed");
    let image = vec![ContentBlock::image("aGk=", "image/png")];
    assert_eq!(*said(Outcome::completed(image.clone())).await.output(), Output::from(image));
    let nothing = result_of(Script::new().settle(Outcome::completed(blank))).await;
    assert!(nothing.output().is_empty(), "what says nothing is absent, never an empty message");
}

#[tokio::test]
async fn text_that_is_kept_is_bounded_and_shows_where_it_was_cut() {
    let (provider, mut settlements) = by_hand();
    let (_subagents, handle) = registered(provider);
    let run = handle.start(Request::new("work")).await.unwrap();
    let settlement = settlements.recv().await.unwrap();
    let progress = settlement.progress();
    let line = "0123456789ß";
    progress.text("It begins. ");
    for _ in 0..100_000 {
        progress.text(line);
    }
    progress.text(" It ends.");
    settlement.settle(Outcome::new(StopReason::MaxTokens));
    let result = run.collect().await.into_result().unwrap();
    let text = result.text();
    assert!(text.len() < 256 * 1024, "{} bytes are kept of 1.2 MB", text.len());
    assert!(text.starts_with("It begins. 0123") && text.ends_with("ß It ends."));
    let (head, rest) = text.split_once("\n[… ").expect("a mark where it was cut");
    let (cut, tail) = rest.split_once(" bytes were cut here …]\n").expect("it says how much");
    let said = "It begins. ".len() + 100_000 * line.len() + " It ends.".len();
    assert_eq!(
        head.len() + cut.parse::<usize>().unwrap() + tail.len(),
        said,
        "not a byte is unaccounted for"
    );
    assert!(head.len() > 1024 && tail.len() > 1024);
}

#[tokio::test]
async fn one_huge_piece_of_text_is_bounded_too() {
    let (provider, mut settlements) = by_hand();
    let (_subagents, handle) = registered(provider);
    let run = handle.start(Request::new("work")).await.unwrap();
    let settlement = settlements.recv().await.unwrap();
    settlement.progress().text("ä".repeat(1_000_000));
    settlement.settle(Outcome::error("too much"));
    let result = run.collect().await.into_result().unwrap();
    assert!(result.text().len() < 256 * 1024);
    assert!(result.text().contains("bytes were cut here"));
}

#[tokio::test]
async fn what_the_provider_settles_with_is_not_cut() {
    let long = "x".repeat(1_000_000);
    let result = result_of(Script::new().complete(long.clone())).await;
    assert_eq!(result.text(), long);
}

#[tokio::test]
async fn usage_and_undelivered_messages_arrive() {
    let mut usage = Usage::default();
    usage.add(&ModelUsage::new("large", 10, 2));
    let undelivered = vec![vec![ContentBlock::text("hurry")]];
    let outcome = Outcome::error("gone").with_usage(usage.clone()).with_undelivered(undelivered.clone());
    let (subagents, handle, _log) = scripted(ScriptedProvider::new(Script::new().settle(outcome)));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let result = handle.start(Request::new("work")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(result.usage(), &usage);
    assert_eq!(result.undelivered(), undelivered);
    let events = recorder.events();
    let Event::Ended(ended) = &events[1] else { panic!("{events:?}") };
    assert_eq!(ended.usage, usage);
}

#[tokio::test]
async fn a_result_is_data() {
    let outcome = Outcome::new(StopReason::Other("acme/stalled".into())).with_output("so far");
    let result = result_of(Script::new().settle(outcome)).await;
    let json = serde_json::to_value(&result).unwrap();
    assert_eq!(json, json!({"stop_reason": "acme/stalled", "output": [{"type": "text", "text": "so far"}]}));
    let read: SubagentResult<NoOutput> = serde_json::from_value(json).unwrap();
    assert_eq!(read, result);
}
