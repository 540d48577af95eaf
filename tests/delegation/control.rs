//! Messages, follow-ups, and what a toolset offers.

use std::time::Duration;

use serde_json::json;
use subagent::delegation::{DelegationTools, MissingControl, SubagentTool};
use subagent::testing::{Script, ScriptedModel, ScriptedProvider};
use subagent::{Spawn, Subagents};

use crate::support::{Loop, framed, id_in, said, says, scripted, text, toolset};

fn names(tools: &DelegationTools) -> Vec<&str> {
    tools.tools().iter().map(subagent::delegation::DelegationTool::name).collect()
}

#[test]
fn a_toolset_holds_what_its_provider_can_do() {
    let subagents = Subagents::new();
    let plain = ScriptedProvider::replying("done").without_steering().without_resuming();
    let plain = subagents.register("plain", plain).unwrap();
    let full = subagents.register("full", ScriptedProvider::replying("done")).unwrap();
    let base = ["subagent", "wait_agent", "list_agents", "interrupt_agent", "read_result"];
    let plain = SubagentTool::builder(&plain).in_background().build();
    assert_eq!(names(&plain), base);
    let full =
        SubagentTool::builder(&full).name("full").in_background().send_message().followup_agent().build();
    assert_eq!(names(&full)[5..], ["send_message", "followup_agent"]);
    // Side by side, the controls are there once.
    let both = plain.and(full);
    assert_eq!(names(&both), [&base[..], &["full", "send_message", "followup_agent"]].concat());
    both.add_to(&subagent::agent::ToolSet::new()).unwrap();
}

#[test]
fn by_name_a_control_that_the_provider_lacks_is_refused() {
    let subagents = Subagents::new();
    let plain = ScriptedProvider::replying("done").without_steering().without_resuming();
    let _plain = subagents.register("plain", plain).unwrap();
    let _full = subagents.register("full", ScriptedProvider::replying("done")).unwrap();
    let named = |name: &str| SubagentTool::by_name(&subagents, name).in_background();
    let error = named("plain").try_send_message().unwrap_err();
    assert_eq!(error.code(), "UNSUPPORTED_CONTROL");
    assert_eq!(
        error.to_string(),
        "`send_message` cannot be offered: the runs of provider `plain` lack the runtime capability `Steerable`; leave \
         it out, or delegate to a provider that has it"
    );
    assert!(named("plain").try_followup_agent().unwrap_err().to_string().contains("`Resumable`"));
    assert!(matches!(named("nobody").try_send_message(), Err(MissingControl::NoProvider { .. })));
    let full = named("full").try_send_message().unwrap().try_followup_agent().unwrap().build();
    assert_eq!(names(&full).len(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_message_reaches_a_child_at_work_and_ends_nothing() {
    let script = Script::new().receive().wait(Duration::from_secs(1)).complete("changed course");
    let (_subagents, provider, log) = scripted([script]);
    let parent = Loop::new(toolset(&provider));
    let id = parent.start("a").await.to_string();
    let sent = parent.call("send_message", json!({"agent_id": id, "message": "Turn left"})).await;
    assert!(!sent.is_error, "{sent:?}");
    assert!(parent.delegations.wait().await);
    assert_eq!(framed(&parent.notices()[0]), "changed course");
    assert_eq!(text(&log.messages()[0]), "Turn left");
    let late = parent.call("send_message", json!({"agent_id": id, "message": "Turn right"})).await;
    assert!(late.is_error && said(&late).contains("it has ended; use `followup_agent`"), "{late:?}");
}

#[tokio::test]
async fn a_message_to_a_child_of_a_provider_that_cannot_take_it_is_refused() {
    let subagents = Subagents::new();
    let deaf = ScriptedProvider::new(Script::new().wait(Duration::from_mins(10))).without_steering();
    let deaf = subagents.register("deaf", deaf).unwrap();
    let (_others, full, _) = scripted([Script::new().complete("done")]);
    let both = SubagentTool::builder(&deaf).name("deaf").in_background().build().and(toolset(&full));
    let parent = Loop::new(both);
    let id = id_in(&said(&parent.call("deaf", crate::support::background_task("a")).await));
    let sent = parent.call("send_message", json!({"agent_id": id.to_string(), "message": "hello"})).await;
    assert!(sent.is_error && said(&sent).contains("take no messages while they work"), "{sent:?}");
    parent.delegations.close().await;
}

#[tokio::test(start_paused = true)]
async fn each_follow_up_has_an_id_and_a_notice_of_its_own() {
    let (subagents, provider, log) = scripted([
        Script::new().complete("first"),
        Script::new().wait(Duration::from_secs(1)).complete("second"),
        Script::new().complete("third"),
    ]);
    let parent = Loop::new(toolset(&provider));
    let first = parent.start("a").await;
    parent.delegations.wait().await;
    assert_eq!(framed(&parent.notices()[0]), "first");
    assert!(said(&parent.call("list_agents", json!({})).await).contains("can be followed up"));
    assert!(subagents.runs().is_empty(), "kept, it takes no place among the live");
    let followed =
        parent.call("followup_agent", json!({"agent_id": first.to_string(), "prompt": "More"})).await;
    let second = id_in(&said(&followed));
    assert!(!followed.is_error && second != first);
    for (tool, arguments) in [
        ("followup_agent", json!({"agent_id": first.to_string(), "prompt": "More"})),
        ("send_message", json!({"agent_id": first.to_string(), "message": "More"})),
        ("interrupt_agent", json!({"agent_id": first.to_string()})),
    ] {
        let output = parent.call(tool, arguments).await;
        assert!(output.is_error && said(&output).contains(&second.to_string()), "{output:?}");
    }
    let early =
        parent.call("followup_agent", json!({"agent_id": second.to_string(), "prompt": "More"})).await;
    assert!(early.is_error && said(&early).contains("is at work: wait for it first"), "{early:?}");
    assert!(parent.delegations.wait().await);
    let notices = parent.notices();
    assert_eq!((notices.len(), id_in(&notices[0]), framed(&notices[0])), (1, second, "second"));
    parent.call("followup_agent", json!({"agent_id": second.to_string(), "prompt": "More"})).await;
    assert!(parent.delegations.wait().await);
    assert_eq!(framed(&parent.notices()[0]), "third");
    assert_eq!(log.disposals(), 0, "it is one child");
    parent.delegations.close().await;
    assert_eq!((log.disposals(), log.live_children()), (1, 0));
}

#[tokio::test]
async fn a_child_that_is_not_kept_cannot_be_followed_up() {
    let (_subagents, provider, log) = scripted([Script::new().complete("done")]);
    let parent = Loop::new(toolset(&provider));
    let mut ids = Vec::new();
    for _ in 0..20 {
        ids.push(parent.start("a").await.to_string());
        parent.delegations.wait().await;
        let _told = parent.notices();
    }
    while log.live_children() > 16 {
        tokio::task::yield_now().await;
    }
    // The oldest were given up.
    let output = parent.call("followup_agent", json!({"agent_id": ids[0], "prompt": "More"})).await;
    assert!(output.is_error && said(&output).contains("its session is not kept"), "{output:?}");
    assert!(!parent.call("followup_agent", json!({"agent_id": ids[19], "prompt": "More"})).await.is_error);
    parent.delegations.close().await;
    assert_eq!(log.live_children(), 0);
}

#[tokio::test]
async fn a_followed_up_child_knows_its_own_work() {
    let subagents = Subagents::new();
    let model = ScriptedModel::new().reply(says("Four.")).reply(says("Five."));
    let spawn = subagents.register("spawn", Spawn::new(model.clone())).unwrap();
    let tools = SubagentTool::builder(&spawn).in_background().send_message().followup_agent().build();
    let parent = Loop::new(tools);
    let id = parent.start("What is two and two?").await;
    parent.delegations.wait().await;
    let _told = parent.notices();
    parent.call("followup_agent", json!({"agent_id": id.to_string(), "prompt": "And one more?"})).await;
    assert!(parent.delegations.wait().await);
    assert_eq!(framed(&parent.notices()[0]), "Five.");
    assert_eq!(model.requests()[1].messages().len(), 3);
    parent.delegations.close().await;
}
