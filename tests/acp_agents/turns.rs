use subagent::{StopReason, Update};

use super::agents::{assert_completed, seen, with, with_each};
use super::scene::patiently;

#[tokio::test]
async fn a_prompt_is_answered_and_nothing_is_left() {
    with_each(async |agent| {
        let provider = agent.register(agent.builder());
        let said = agent.result(&provider, "Hello. [[reply:THE-ANSWER]]").await;
        assert_completed(agent, &said, "THE-ANSWER");
        assert_eq!(agent.lifecycle(), ["started", "completed"]);
    })
    .await;
}

#[tokio::test]
async fn two_runs_at_once_do_not_mix() {
    with_each(async |agent| {
        let provider = agent.register(agent.builder());
        let (one, two) = tokio::join!(
            agent.result(&provider, "Hello. [[reply:ANSWER-ONE]]"),
            agent.result(&provider, "Hello. [[reply:ANSWER-TWO]]"),
        );
        assert_completed(agent, &one, "ANSWER-ONE");
        assert_completed(agent, &two, "ANSWER-TWO");
        assert!(!one.text().contains("TWO") && !two.text().contains("ONE"));
        assert_eq!(agent.started(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_leader_that_is_killed_in_its_turn_is_an_error_and_takes_the_rest_along() {
    with_each(async |agent| {
        let provider = agent.register(agent.allowing());
        let run = agent.start(&provider, "Hello. [[slow:60]]").await;
        let mut updates = run.updates();
        seen(&mut updates, |update| matches!(update, Update::Text { .. })).await;
        agent.kill_leader();
        let said = patiently(run.result()).await.unwrap();
        assert_eq!(said.stop_reason(), &StopReason::Error, "{}", agent.name);
        assert!(said.text().contains("w0"), "what it said is kept: {}", said.text());
        assert!(said.diagnostic().unwrap().contains("signal 9"), "{said:?}");
        patiently(run.dispose()).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_agent_that_is_disposed_of_in_a_tool_call_is_gone_with_its_tool() {
    with_each(async |agent| {
        let provider = agent.register(agent.allowing());
        let run = agent.start(&provider, &agent.call("echo > begun; sleep 61")).await;
        let mut updates = run.updates();
        seen(&mut updates, |update| matches!(update, Update::ToolCall { .. })).await;
        patiently(run.dispose()).await.unwrap();
        assert_eq!(agent.lifecycle(), ["started", "aborted"]);
    })
    .await;
}

/// It asks no model: its turn is written down, takes 5 s and asks for one permission.
#[tokio::test]
async fn the_example_agent_of_the_protocol_is_driven_too() {
    with("ts-example", async |agent| {
        let provider = agent.register(agent.builder());
        let run = agent.start(&provider, "Hello.").await;
        let mut updates = run.updates();
        seen(&mut updates, |update| matches!(update, Update::ToolCall { .. })).await;
        run.cancel("enough");
        let settled = patiently(run.settle()).await;
        assert_eq!(settled.result().unwrap().stop_reason(), &StopReason::Aborted);
        let again = patiently(settled.resume("Hello.")).await.unwrap();
        let said = patiently(again.collect()).await.into_result().unwrap();
        assert_completed(agent, &said, "");
        assert_eq!(agent.started(), 1);
        assert!(!said.text().is_empty());
    })
    .await;
}
