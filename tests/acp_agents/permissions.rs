use futures::StreamExt as _;
use subagent::Update;
use subagent::acp::{AcpBuilder, PermissionDecision, PermissionPolicy};

use super::agents::{RealAgent, assert_completed, with, with_each};
use super::scene::{PATIENCE, SOON, patiently};

/// What a run that has to ask is answered, as its updates tell it, and the tool calls among them.
async fn asked(agent: &RealAgent, builder: AcpBuilder, prompt: &str) -> (Vec<String>, usize) {
    let provider = agent.register(builder);
    let run = agent.start(&provider, prompt).await;
    let updates: Vec<_> = patiently(run.updates().map(|update| (*update.unwrap()).clone()).collect()).await;
    let outcomes = updates.iter().filter_map(|update| match update {
        Update::Other { kind, data } if kind == "permission" => Some(data["outcome"].as_str()?.to_owned()),
        _ => None,
    });
    let calls = updates.iter().filter(|update| matches!(update, Update::ToolCall { .. })).count();
    let asked = (outcomes.collect(), calls);
    let said = patiently(run.collect()).await.into_result().unwrap();
    if asked.0 == ["allowed"] {
        assert_completed(agent, &said, "");
    }
    asked
}

#[tokio::test]
async fn a_tool_call_that_is_allowed_runs() {
    with_each(async |agent| {
        let prompt = agent.call("touch ran.txt");
        let (outcomes, calls) = asked(agent, agent.allowing(), &prompt).await;
        assert_eq!((outcomes.as_slice(), calls), (&["allowed".to_owned()][..], 1), "{}", agent.name);
        // The sandbox of codex does not work everywhere: that its tool had an outcome has to do.
        assert!(agent.name == "codex" || agent.exists("ran.txt"));
    })
    .await;
}

#[tokio::test]
async fn a_tool_call_that_is_denied_does_not_run() {
    with_each(async |agent| {
        let prompt = agent.call("touch ran.txt");
        let (outcomes, _) = asked(agent, agent.builder(), &prompt).await;
        assert_eq!(outcomes, ["denied"], "{}", agent.name);
        assert!(!agent.exists("ran.txt"));
    })
    .await;
}

#[tokio::test]
async fn a_tool_call_that_nobody_decides_about_does_not_run() {
    with_each(async |agent| {
        let policy = PermissionPolicy::ask(SOON, |_| std::future::pending());
        let prompt = agent.call("touch ran.txt");
        let (outcomes, _) = asked(agent, agent.builder().permissions(policy), &prompt).await;
        assert_eq!(outcomes, ["expired"], "{}", agent.name);
        assert!(!agent.exists("ran.txt"));
    })
    .await;
}

#[tokio::test]
async fn the_example_agent_is_answered_by_the_policy() {
    for (decision, outcome) in [(PermissionDecision::Allow, "allowed"), (PermissionDecision::Deny, "denied")]
    {
        with("ts-example", async |agent| {
            let policy = PermissionPolicy::ask(PATIENCE, move |_| std::future::ready(decision));
            let (outcomes, calls) = asked(agent, agent.builder().permissions(policy), "Hello.").await;
            assert_eq!((outcomes.as_slice(), calls), (&[outcome.to_owned()][..], 2));
        })
        .await;
    }
}
