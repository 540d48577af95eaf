use futures::StreamExt as _;
use serde_json::json;
use subagent::{StopReason, Update};

use super::scene::{SOON, Scene, ended, patiently};

#[tokio::test]
async fn text_is_the_output_and_nothing_else_is() {
    let Some(scene) = Scene::new() else { return };
    let script = "think hm\nsay one \nimage\nforeign not ours\nsay two\n\
                  usage {\"inputTokens\": 3, \"outputTokens\": 2}";
    let said = scene.said(scene.agent(&[]), script).await;
    assert_eq!(ended(&said), (&StopReason::Completed, "one two".into()));
    assert_eq!(said.usage().own[0].input_tokens, Some(3));
}

#[tokio::test]
async fn stop_reasons_are_those_of_the_seam_and_an_unknown_one_is_an_error_with_its_word() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    for (word, stop, text, why) in [
        ("end_turn", StopReason::Completed, "x", ""),
        ("max_tokens", StopReason::MaxTokens, "half", "output tokens"),
        ("max_turn_requests", StopReason::TurnLimit, "x", "model calls"),
        ("refusal", StopReason::Refusal, "", "refuses"),
        ("cancelled", StopReason::Aborted, "x", ""),
        ("out_of_cheese", StopReason::Error, "x", "out_of_cheese"),
    ] {
        let said = scene.result(&agent, &format!("say {text}\nstop {word}")).await;
        assert_eq!(ended(&said), (&stop, text.into()), "{word}");
        let diagnostic = said.diagnostic().unwrap_or_default();
        assert!(diagnostic.contains(why) && diagnostic.is_empty() == why.is_empty(), "{word}: {diagnostic}");
    }
}

#[tokio::test]
async fn a_failure_is_told_once_with_its_reason() {
    let Some(scene) = Scene::new() else { return };
    let said = scene.said(scene.agent(&[]), "say before\nstderr out of cheese\nexit 7").await;
    assert_eq!(ended(&said), (&StopReason::Error, "before".into()));
    let diagnostic = said.diagnostic().unwrap();
    assert!(diagnostic.contains("status 7") && diagnostic.contains("out of cheese"), "{diagnostic}");
    assert_eq!(scene.lifecycle(), ["started", "error"]);
}

#[tokio::test]
async fn an_agent_that_dies_loses_nothing_it_wrote_though_a_grandchild_holds_its_pipes() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.agent(&[]).stdin_end_grace(SOON);
    let said = scene.said(agent, "say before\ngrandchild {}/grandchild\nsay  the end\nexit 7").await;
    assert_eq!(ended(&said), (&StopReason::Error, "before the end".into()));
}

#[tokio::test]
async fn the_last_message_that_says_something_stands() {
    let Some(scene) = Scene::new() else { return };
    let call = r#"update {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls"}"#;
    let script = format!("say the partial answer\n{call}\nsay \nstop max_tokens");
    let said = scene.said(scene.agent(&[]), &script).await;
    assert_eq!(ended(&said), (&StopReason::MaxTokens, "the partial answer".into()));
}

#[tokio::test]
async fn the_first_answer_stands_and_its_diagnostic_is_not_the_next_turns() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&["duplicate"]));
    let settled = scene.start(&agent, "say half\nerror -32603 the model is down").await.settle().await;
    let first = settled.result().unwrap();
    assert_eq!(ended(first), (&StopReason::Error, "half".into()));
    assert!(first.diagnostic().unwrap().contains("the model is down"));
    let second = settled.resume("say whole").await.unwrap().collect().await.into_result().unwrap();
    assert_eq!((ended(&second), second.diagnostic()), ((&StopReason::Completed, "whole".into()), None));
}

#[tokio::test]
async fn what_it_does_is_told_in_order() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let script = [
        "think hm",
        r#"update {"sessionUpdate": "plan", "entries": []}"#,
        r#"update {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "rawInput": {"n": 1}}"#,
        r#"update {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}"#,
        "say done",
    ];
    let run = scene.start(&agent, &script.join("\n")).await;
    let updates: Vec<_> = patiently(run.updates().map(|update| (*update.unwrap()).clone()).collect()).await;
    let expected = [
        Update::thought("hm"),
        Update::Other { kind: "plan".into(), data: json!({ "entries": [] }) },
        Update::tool_call("t", "ls", json!({ "n": 1 })),
        Update::tool_result("t", vec![], false),
        Update::text("done"),
    ];
    assert_eq!(updates, expected);
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn a_watcher_that_leaves_is_no_cancel() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let run = scene.start(&agent, "say one \nsleep 0.2\nsay two").await;
    let mut updates = run.updates();
    patiently(updates.next()).await.unwrap().unwrap();
    drop(updates);
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert_eq!(ended(&said), (&StopReason::Completed, "one two".into()));
}

#[tokio::test]
async fn an_idle_turn_and_a_long_one_end_at_their_limits() {
    for (limit_idle, words) in [(true, "no update"), (false, "took longer")] {
        let Some(scene) = Scene::new() else { return };
        let agent = scene.agent(&[]);
        let agent = if limit_idle { agent.idle_limit(SOON) } else { agent.turn_limit(SOON) };
        let said = scene.said(agent, "say x\nwait-cancel").await;
        assert_eq!(ended(&said), (&StopReason::TimeLimit, "x".into()));
        assert!(said.diagnostic().unwrap().contains(words), "{said:?}");
    }
}
