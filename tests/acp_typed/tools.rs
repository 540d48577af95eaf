use std::sync::{Arc, Mutex};

use serde_json::json;
use subagent::acp::AcpBuilder;
use subagent::agent::{Tool, ToolOutput, ToolSet, UsageLedger, tool_fn};
use subagent::delegation::{DelegationTools, SubagentTool};
use subagent::testing::{Script, ScriptedLog, ScriptedProvider};
use subagent::{Event, ModelUsage, Parent, Request, StopReason, Subagents};
use tokio::sync::Notify;

use super::agents::{assert_completed, with_each};
use super::answers::script;
use super::delivery::register;
use super::scene::{Scene, patiently};
use crate::kept::Spans;

fn set(tool: impl Tool) -> ToolSet {
    ToolSet::new().with(tool).unwrap()
}

fn nothing() -> serde_json::Value {
    json!({"type": "object"})
}

/// A tool that says where it runs.
fn whoami() -> impl Tool {
    tool_fn("whoami", "Says who calls.", nothing(), async |arguments, context| {
        context.agent.usage.add(&ModelUsage::new("priced", 3, 4));
        format!("depth {} of {:?}: {arguments}", context.agent.depth(), context.agent.max_depth())
    })
}

fn offering(scene: &Scene, tools: ToolSet) -> AcpBuilder {
    scene.agent(&["able=http"]).tools(tools)
}

#[tokio::test]
async fn a_child_calls_a_tool_of_its_parent() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(offering(&scene, set(whoami())));
    let ledger = UsageLedger::new();
    let parent = Parent::new("agent", "session").with_depth(1).with_max_depth(4).with_usage(ledger.clone());
    let request = Request::new("call whoami {\"a\": 1}\ncall another {\"a\": 1}\ntools").parent(&parent);
    let run = scene.try_start(&agent, request).await.unwrap();
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert!(
        said.text().starts_with("[depth 2 of Some(4): {\"a\":1}][ERROR There is no tool named `another`")
    );
    assert!(!said.text().contains("deliver_result"), "nothing is asked for: {}", said.text());
    assert_eq!(said.usage().own[0].model.as_deref(), Some("priced"));
    assert_eq!(ledger.usage().descendants[0].input_tokens, Some(3));
}

#[tokio::test]
async fn beside_the_capture_tool_each_keeps_a_name_of_its_own() {
    let Some(scene) = Scene::new() else { return };
    let theirs = tool_fn("deliver_result", "Not ours.", nothing(), async |_, _| "theirs");
    let provider = register(&scene, offering(&scene, set(theirs)).structured());
    let script = "deliver {\"a\": 1}\ncall deliver_result_ {\"result\": 5}";
    let run = patiently(provider.start(Request::new(script).output::<u8>())).await.unwrap();
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert!(said.text().starts_with("[theirs]"), "{}", said.text());
    assert_eq!(said.structured().unwrap(), 5);
}

#[tokio::test]
async fn a_call_is_cancelled_with_the_run_and_waited_for() {
    let Some(scene) = Scene::new() else { return };
    let (begun, ended) = (Arc::new(Notify::new()), Arc::new(Mutex::new(false)));
    let (begins, ends) = (Arc::clone(&begun), Arc::clone(&ended));
    let waiting = tool_fn("wait", "Waits.", nothing(), move |_, context| {
        let (begins, ends) = (Arc::clone(&begins), Arc::clone(&ends));
        async move {
            begins.notify_one();
            context.cancellation.cancelled().await;
            *ends.lock().unwrap() = true;
            "stopped"
        }
    });
    let agent = scene.register(offering(&scene, set(waiting)));
    let run = scene.start(&agent, "call wait {\"a\": 1}\nwait-cancel").await;
    patiently(begun.notified()).await;
    run.cancel("enough");
    let settled = patiently(run.settle()).await;
    assert_eq!(settled.result().unwrap().stop_reason(), &StopReason::Aborted);
    patiently(settled.dispose()).await.unwrap();
    assert!(*ended.lock().unwrap());
}

/// A tool that delegates to this provider.
fn delegating(subagents: &Subagents) -> impl Tool {
    let subagents = subagents.clone();
    tool_fn("delegate", "Delegates.", nothing(), move |_, context| {
        let subagents = subagents.clone();
        async move {
            let request = Request::new("Help").parent(&Parent::from(&context));
            let run = subagents.start("helper", request).await?;
            Ok::<_, subagent::StartError>(
                run.collect()
                    .await
                    .into_result()
                    .map_or_else(|fault| fault.to_string(), |said| said.text().into_owned()),
            )
        }
    })
}

#[tokio::test]
async fn a_child_delegates_no_deeper_than_its_parents_cap() {
    let Some(scene) = Scene::new() else { return };
    let _helper = scene.subagents.register("helper", ScriptedProvider::replying("helped")).unwrap();
    let agent = scene.register(offering(&scene, set(delegating(&scene.subagents))));
    for (cap, answer) in [(2, "[helped]"), (1, "[ERROR the child would be at depth 2, and the limit is 1")] {
        let parent = Parent::new("agent", "session").with_max_depth(cap);
        let request = Request::new("call delegate {\"a\": 1}").parent(&parent);
        let run = scene.try_start(&agent, request).await.unwrap();
        let said = patiently(run.collect()).await.into_result().unwrap();
        assert!(said.text().starts_with(answer), "{}", said.text());
    }
}

/// A call of a [`SubagentTool`].
const DELEGATING: &str = r#"call subagent {"description": "a", "prompt": "b"}"#;

#[tokio::test]
async fn a_child_delegates_with_a_subagent_tool_no_deeper_than_its_parents_cap() {
    let Some(scene) = Scene::new() else { return };
    let helper = ScriptedProvider::replying("helped");
    let started = helper.log();
    let helper = scene.subagents.register("helper", helper).unwrap();
    let agent = scene.register(offering(&scene, set(SubagentTool::builder(&helper).build())));
    for (cap, answer) in [(2, "\nhelped\n"), (1, "the child would be at depth 2, and the limit is 1")] {
        let parent = Parent::new("agent", "session").with_max_depth(cap);
        let run = scene.try_start(&agent, Request::new(DELEGATING).parent(&parent)).await.unwrap();
        let said = patiently(run.collect()).await.into_result().unwrap();
        assert!(said.text().contains(answer), "{}", said.text());
        assert_eq!(said.text().starts_with("[ERROR "), cap == 1, "{}", said.text());
        assert_eq!((started.disposals(), started.live_children()), (1, 0), "refused before there is a child");
    }
}

#[tokio::test]
async fn agents_written_by_others_delegate_no_deeper_than_their_parents_cap() {
    with_each(async |agent| {
        let helper = agent.subagents.register("helper", ScriptedProvider::replying("helped")).unwrap();
        let tools = set(SubagentTool::builder(&helper).name("delegate").build());
        let provider = agent.register(agent.allowing().tools(tools));
        for (cap, answer) in [(2, "helped"), (1, "the child would be at depth 2, and the limit is 1")] {
            let call = json!({"tool": "delegate$", "args": {"description": "a", "prompt": "b"}});
            let prompt = script(&json!([call, {"text": "That was it."}]));
            let parent = Parent::new("agent", "session").with_max_depth(cap);
            let run = agent.try_start(&provider, Request::new(prompt).parent(&parent)).await.unwrap();
            let said = patiently(run.collect()).await.into_result().unwrap();
            assert_completed(agent, &said, "That was it.");
            crate::model_was_told(agent, answer);
        }
    })
    .await;
}

#[tokio::test]
async fn what_a_child_delegates_is_told_to_come_from_its_run() {
    let Some(scene) = Scene::new() else { return };
    let _helper = scene.subagents.register("helper", ScriptedProvider::replying("helped")).unwrap();
    let above = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&above);
    let _subscription = scene.subagents.subscribe(move |event| {
        if let Event::Started(started) = event
            && &*started.run.provider == "helper"
        {
            *seen.lock().unwrap() = started.run.parent_run();
        }
    });
    let agent = scene.register(offering(&scene, set(delegating(&scene.subagents))));
    let run = scene.start(&agent, "call delegate {\"a\": 1}").await;
    let id = run.id();
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert!(said.text().starts_with("[helped]"), "{}", said.text());
    assert_eq!(*above.lock().unwrap(), Some(id));
}

#[tokio::test]
async fn what_a_child_delegates_is_in_the_trace_of_its_run() {
    let Some(scene) = Scene::new() else { return };
    let (spans, _guard) = Spans::installed();
    let _helper = scene.subagents.register("helper", ScriptedProvider::replying("helped")).unwrap();
    let failing = tool_fn("fail", "Fails.", nothing(), async |_, _| ToolOutput::error("no"));
    let tools = set(delegating(&scene.subagents)).with(failing).unwrap();
    let agent = scene.register(offering(&scene, tools));
    let run = scene.start(&agent, "call delegate {\"a\": 1}\ncall fail {\"a\": 1}").await;
    patiently(run.settle()).await.dispose().await.unwrap();
    let ours: Vec<_> =
        (0..).zip(spans.paths()).filter(|(_, path)| path.starts_with("invoke_agent")).collect();
    let paths: Vec<_> = ours.iter().map(|(_, path)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "invoke_agent",
            "invoke_agent > execute_tool delegate",
            "invoke_agent > execute_tool delegate > invoke_agent",
            "invoke_agent > execute_tool fail",
        ]
    );
    assert_eq!(spans.field(ours[3].0, "error.type").as_deref(), Some("tool_error"));
    assert_eq!(spans.open(), 0);
}

const IN_BACKGROUND: &str =
    "call subagent {\"description\": \"a\", \"prompt\": \"b\", \"run_in_background\": true}";

/// Tools that delegate to a helper that plays this.
fn helping(scene: &Scene, script: Script) -> (DelegationTools, ScriptedLog) {
    let helper = ScriptedProvider::new(script);
    let log = helper.log();
    let helper = scene.subagents.register("helper", helper).unwrap().leave_registered();
    (SubagentTool::builder(&helper).in_background().build(), log)
}

#[tokio::test]
async fn what_a_child_left_at_work_in_the_background_ends_with_its_run() {
    let Some(scene) = Scene::new() else { return };
    let (tools, log) = helping(&scene, Script::new().hang());
    let agent = scene.register(offering(&scene, tools.add_to(&ToolSet::new()).unwrap()));
    let settled = patiently(scene.start(&agent, IN_BACKGROUND).await.settle()).await;
    let said = settled.result().unwrap();
    assert!(said.text().starts_with("[Started in the background as agent "), "{}", said.text());
    assert_eq!(said.stop_reason(), &StopReason::Completed);
    let diagnostic = said.diagnostic().unwrap();
    assert!(diagnostic.starts_with("background agents were stopped with it: "), "{diagnostic}");
    assert!(scene.subagents.runs().is_empty());
    patiently(settled.dispose()).await.unwrap();
    assert_eq!((log.disposals(), log.live_children()), (1, 0));

    let run = scene.start(&agent, &format!("{IN_BACKGROUND}\nwait-cancel")).await;
    patiently(async {
        while log.live_children() == 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    run.cancel("enough");
    let collected = patiently(run.collect()).await;
    assert_eq!(collected.into_result().unwrap().stop_reason(), &StopReason::Aborted);
    assert_eq!((log.disposals(), log.live_children()), (2, 0), "gone when the disposal returns");
}

#[tokio::test]
async fn a_child_is_told_once_of_what_ended_in_the_background() {
    let Some(scene) = Scene::new() else { return };
    let (tools, _log) = helping(&scene, Script::new().complete("all of it"));
    let listing = tools.find("list_agents").unwrap().clone();
    let until_ended = tool_fn("until_ended", "Waits.", nothing(), move |_, context| {
        let listing = listing.clone();
        async move {
            while !format!("{:?}", listing.call(json!({}), &context).await).contains("ended") {
                tokio::task::yield_now().await;
            }
            "it has"
        }
    });
    let offered = tools.add_to(&set(whoami()).with(until_ended).unwrap()).unwrap();
    let agent = scene.register(offering(&scene, offered));
    let prompt = format!("{IN_BACKGROUND}\ncall until_ended {{\"a\": 1}}\ncall whoami {{\"a\": 1}}");
    let run = scene.start(&agent, &prompt).await;
    let said = patiently(run.collect()).await.into_result().unwrap();
    let text = said.text();
    assert_eq!(text.matches("all of it").count(), 1, "{text}");
    assert!(text.find("it has") < text.find("all of it"), "{text}");
    assert_eq!(said.diagnostic(), None);
}

#[tokio::test]
async fn agents_written_by_others_call_a_tool_of_their_parent() {
    with_each(async |agent| {
        let provider = agent.register(agent.allowing().tools(set(whoami())));
        let prompt = script(&json!([{"tool": "whoami$", "args": {}}, {"text": "That was it."}]));
        let said = agent.result(&provider, &prompt).await;
        assert_completed(agent, &said, "That was it.");
        crate::model_was_told(agent, "depth 1 of None");
    })
    .await;
}

#[tokio::test]
async fn agents_written_by_others_ask_before_they_call_a_tool_of_their_parent() {
    with_each(async |agent| {
        let provider = agent.register(agent.builder().tools(set(whoami())));
        let prompt = script(&json!([{"tool": "whoami$", "args": {}}, {"text": "That was it."}]));
        drop(agent.result(&provider, &prompt).await);
        assert!(!std::fs::read_to_string(agent.path("requests")).unwrap().contains("depth 1 of None"));
    })
    .await;
}
