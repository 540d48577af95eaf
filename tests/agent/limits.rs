//! The limits of a turn: each is a stop reason of its own, with what was said so far.

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::json;
use subagent::agent::{Agent, Inbox, Limits, SessionEventKind, ToolChoice, ToolSet, TurnOptions, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{ContentBlock, StopReason};

use super::support::{conversation, prompt, words};

fn limited(model: &ScriptedModel, tools: ToolSet, change: impl FnOnce(&mut Limits)) -> Agent {
    let mut limits = Limits::default();
    change(&mut limits);
    Agent::builder(std::sync::Arc::new(model.clone())).tools(tools).limits(limits).build()
}

fn echo() -> ToolSet {
    ToolSet::new().with(tool_fn("echo", "Repeats.", json!({}), async |_, _| "echo")).unwrap()
}

fn calling() -> ScriptedReply {
    ScriptedReply::new().tool_call("", "echo", json!({}))
}

#[tokio::test]
async fn before_the_step_limit_the_model_hands_over_without_tools() {
    let model = ScriptedModel::new()
        .reply(calling())
        .reply(calling())
        .reply(ScriptedReply::new().text("Found half of it."));
    let mut agent = limited(&model, echo(), |limits| limits.steps = NonZeroU32::new(3));
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!((outcome.stop_reason, outcome.steps), (StopReason::TurnLimit, 3));
    assert_eq!(outcome.output.to_text(), "Found half of it.");
    assert!(outcome.diagnostic.unwrap().contains("3 steps"));
    let requests = model.requests();
    assert_eq!(
        requests.iter().map(|request| request.tool_choice).collect::<Vec<_>>(),
        [ToolChoice::Auto, ToolChoice::Auto, ToolChoice::None]
    );
    assert!(conversation(&requests[2]).last().unwrap().starts_with("user: This is the last step"));
}

#[tokio::test]
async fn calls_in_the_last_step_are_not_executed() {
    let model = ScriptedModel::new().then_always(calling().text("More!"));
    let mut agent = limited(&model, echo(), |limits| limits.steps = NonZeroU32::new(2));
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::TurnLimit);
    assert_eq!(model.requests().len(), 2);
    let log = words(agent.session().snapshot().events());
    assert!(
        log.iter().any(|word| word.contains("The tool was not called: the step limit is reached")),
        "{log:?}"
    );
}

#[tokio::test]
async fn one_step_is_enough_for_an_answer() {
    let model = ScriptedModel::new().reply(ScriptedReply::new().text("Yes."));
    let mut agent = limited(&model, echo(), |limits| limits.steps = NonZeroU32::new(1));
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);
}

#[tokio::test]
async fn a_message_does_not_lift_the_step_limit() {
    let inbox = Inbox::new();
    let sender = inbox.clone();
    let model = ScriptedModel::new().reply(ScriptedReply::new().text("Yes."));
    let mut agent = limited(&model, echo(), |limits| limits.steps = NonZeroU32::new(1));
    let options = TurnOptions::new().inbox(inbox).on_update(move |_| {
        sender.send(prompt("more")).ok();
    });
    let outcome = agent.run_turn(prompt("go"), options).await;
    assert_eq!(outcome.stop_reason, StopReason::TurnLimit);
    assert!(!outcome.undelivered.is_empty());
}

#[tokio::test]
async fn a_model_that_never_stops_reaches_its_token_limit() {
    let model = ScriptedModel::new().then_always(ScriptedReply::new().endless("and so on "));
    let mut agent = limited(&model, ToolSet::new(), |limits| limits.output_tokens = NonZeroU32::new(100));
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::MaxTokens);
    assert!(outcome.output.to_text().starts_with("and so on and"));
    assert!(outcome.output.to_text().len() < 2_000);
    assert_eq!(model.requests()[0].max_output_tokens, NonZeroU32::new(100));

    let mut agent = limited(&model, ToolSet::new(), |limits| limits.response_bytes = 500);
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::MaxTokens);
}

#[tokio::test(start_paused = true)]
async fn idleness_counts_from_the_last_sign_of_life() {
    let slow = |pieces: usize| {
        (0..pieces).fold(ScriptedReply::new(), |reply, _| reply.delay(Duration::from_secs(8)).text("."))
    };
    let idle = |limits: &mut Limits| limits.idle = Some(Duration::from_secs(10));
    let model = ScriptedModel::new().reply(slow(5));
    let outcome = limited(&model, ToolSet::new(), idle).run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);

    let model = ScriptedModel::new().reply(slow(3).hang());
    let begin = tokio::time::Instant::now();
    let outcome = limited(&model, ToolSet::new(), idle).run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!((outcome.stop_reason, outcome.output.to_text().as_ref()), (StopReason::TimeLimit, "..."));
    assert_eq!(begin.elapsed().as_secs(), 34);
    assert!(outcome.diagnostic.unwrap().contains("10 s"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_idle_unless_it_reports_activity() {
    let busy = tool_fn("busy", "Reports.", json!({}), async |_, context| {
        for _ in 0..5 {
            tokio::time::sleep(Duration::from_secs(8)).await;
            context.report_activity();
        }
        "done"
    });
    let silent = tool_fn("silent", "Hangs.", json!({}), async |_, _| std::future::pending::<&str>().await);
    let tools = ToolSet::new().with(busy).unwrap().with(silent).unwrap();
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().text("Busy.").tool_call("1", "busy", json!({})))
        .reply(ScriptedReply::new().tool_call("2", "silent", json!({})));
    let mut agent = limited(&model, tools, |limits| limits.idle = Some(Duration::from_secs(10)));
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!((outcome.stop_reason, outcome.output.to_text().as_ref()), (StopReason::TimeLimit, "Busy."));
    assert_eq!(model.requests().len(), 2);
    assert!(words(agent.session().snapshot().events()).contains(&"result:1:done".into()));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_never_returns_becomes_an_error_for_the_model() {
    let hang = tool_fn("hang", "Hangs.", json!({}), async |_, _| std::future::pending::<&str>().await);
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "hang", json!({})))
        .reply(ScriptedReply::new().text("Then without."));
    let tools = ToolSet::new().with(hang).unwrap();
    let mut agent = limited(&model, tools, |limits| limits.tool_deadline = Some(Duration::from_secs(5)));
    let begin = tokio::time::Instant::now();
    let outcome = agent.run_turn(prompt("go"), TurnOptions::new()).await;
    assert_eq!(begin.elapsed().as_secs(), 5);
    assert_eq!(
        (outcome.stop_reason, outcome.output.to_text().as_ref()),
        (StopReason::Completed, "Then without.")
    );
    assert!(conversation(&model.requests()[1])[2].contains("`hang` was stopped: it did not end within 5 s"));
}

#[tokio::test]
async fn an_oversized_result_is_cut_with_a_mark() {
    let big = tool_fn("big", "Says much.", json!({}), async |_, _| {
        vec![
            ContentBlock::text("é".repeat(600)),
            ContentBlock::image("aGk=", "image/png"),
            ContentBlock::text("end"),
        ]
    });
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "big", json!({})))
        .reply(ScriptedReply::new().text("I see."));
    let tools = ToolSet::new().with(big).unwrap();
    let mut agent = limited(&model, tools, |limits| limits.tool_result_bytes = 1001);
    agent.run_turn(prompt("go"), TurnOptions::new()).await;
    let seen = &conversation(&model.requests()[1])[2];
    assert!(seen.contains(&format!("{}\n[cut: 1000 of 1200 bytes are shown]", "é".repeat(500))), "{seen}");
    assert!(seen.contains("[cut: 2 more blocks are left out]"), "{seen}");
}

#[tokio::test]
async fn content_that_the_model_cannot_read_is_left_out_with_a_mark() {
    let look = tool_fn("look", "Looks.", json!({}), async |_, _| {
        vec![ContentBlock::image("aGk=", "image/png"), ContentBlock::text("end")]
    });
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "look", json!({})))
        .reply(ScriptedReply::new().text("I see."));
    limited(&model, ToolSet::new().with(look).unwrap(), |_| {})
        .run_turn(prompt("go"), TurnOptions::new())
        .await;
    let seen = &conversation(&model.requests()[1])[2];
    assert!(seen.contains("[left out: image content, which this model cannot read]end"), "{seen}");
}

#[tokio::test]
async fn many_blocks_do_not_get_around_the_cap_on_a_result() {
    let image = || ContentBlock::image("aGk=", "image/png");
    let text = |text: &str| vec![ContentBlock::text(text); 10_000];
    for content in [vec![image(); 10_000], text("0123456789"), text(""), text("é")] {
        let many = tool_fn("many", "Says much.", json!({}), move |_, _| {
            let content = content.clone();
            async move { content }
        });
        let model = ScriptedModel::new()
            .reply(ScriptedReply::new().tool_call("1", "many", json!({})))
            .reply(ScriptedReply::new().text("I see."));
        let tools = ToolSet::new().with(many).unwrap();
        let mut agent = limited(&model, tools, |limits| limits.tool_result_bytes = 1000);
        agent.run_turn(prompt("go"), TurnOptions::new()).await;
        let log = agent.session().snapshot();
        let result = log.events().find_map(|event| match &event.kind {
            SessionEventKind::ToolResult(result) => Some(serde_json::to_string(result).unwrap()),
            _ => None,
        });
        let result = result.unwrap();
        assert!(result.len() < 1500, "{} bytes: {}", result.len(), &result[..200]);
        assert!(result.contains("more blocks are left out]"), "{result}");
    }
}
