//! A task that is handed over and waited for.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use subagent::agent::{Agent, ModelRequest, Tool, ToolSet, TurnOptions, UsageLedger};
use subagent::delegation::{CallContext, Delegations, SubagentTool};
use subagent::testing::{Script, ScriptedModel, ScriptedProvider, ScriptedReply};
use subagent::{
    Event, Fork, ModelUsage, Outcome, Parent, RunFault, Spawn, StopReason, Subagents, ToolFilter, Usage,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::{
    context, ends_with, framed, parent, recorded, said, says, scripted, task, times, toolset,
};

#[tokio::test]
async fn a_task_goes_to_the_configured_provider_and_its_text_comes_back() {
    let (_subagents, provider, log) = scripted([Script::new().complete("42 files")]);
    let output = SubagentTool::builder(&provider).build().call(task("Count the files"), context()).await;
    assert!(!output.is_error);
    assert_eq!(framed(&said(&output)), "42 files");
    assert!(log.requests()[0].prompt.starts_with("Count the files"));
    assert_eq!(log.requests()[0].parent.as_ref().unwrap().agent_id().as_str(), "agent");
}

#[test]
fn the_model_sees_a_description_and_a_prompt_and_nothing_of_transports() {
    let (_subagents, provider, _) = scripted([]);
    let definition = SubagentTool::builder(&provider).build().definition();
    assert_eq!(definition.name, "subagent");
    let fields: Vec<_> = definition.input_schema["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(fields, ["description", "prompt"]);
    assert_eq!(definition.input_schema["additionalProperties"], false);
    assert!(!definition.description.contains("scripted"), "{}", definition.description);
}

#[test]
fn the_description_says_what_the_child_sees() {
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(ScriptedModel::new())).unwrap();
    let fork = subagents.register("fork", Fork::new()).unwrap();
    let sees = |tool: SubagentTool| tool.definition().description;
    assert!(sees(SubagentTool::builder(&spawn).build()).contains("sees nothing of this conversation"));
    assert!(sees(SubagentTool::builder(&fork).build()).contains("sees this conversation up to"));
    assert!(sees(SubagentTool::by_name(&subagents, "fork").build()).contains("sees this conversation up to"));
}

#[tokio::test]
async fn every_reason_but_completed_is_an_error_that_says_why() {
    for (reason, says) in [
        (StopReason::Aborted, "it was cancelled"),
        (StopReason::Error, "it failed"),
        (StopReason::MaxTokens, "it reached its output token limit"),
        (StopReason::Refusal, "it declined the task"),
        (StopReason::TurnLimit, "it reached its limit of steps"),
        (StopReason::TimeLimit, "it ran out of time"),
        ("acme/quota".into(), "it ended abnormally (`acme/quota`)"),
    ] {
        let (_subagents, provider, log) = scripted([ends_with(reason.clone())]);
        let output = SubagentTool::builder(&provider).build().call(task("Do it"), context()).await;
        let text = said(&output);
        assert!(output.is_error, "{reason}");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("`{part}` is not in: {text}"));
        assert!(at(says) < at("the reason why") && at("the reason why") < at("half of it"), "{text}");
        assert_eq!(framed(&text), "half of it");
        assert_eq!((log.disposals(), log.live_children()), (1, 0), "{reason}");
    }
}

#[tokio::test]
async fn no_output_is_absent_and_a_fault_is_told() {
    let (_subagents, provider, _) =
        scripted([Script::new().settle(Outcome::error("no disk")), Script::new().lose_settlement()]);
    let tool = SubagentTool::builder(&provider).build();
    let text = said(&tool.call(task("Do it"), context()).await);
    assert!(text.contains("it failed. Diagnostic: no disk It said nothing."), "{text}");
    let output = tool.call(task("Do it"), context()).await;
    assert!(output.is_error && said(&output).contains("has no result"), "{output:?}");
    let fault = RunFault::SettlementLost { run_id: crate::support::id_in(&said(&output)) };
    assert!(said(&output).contains(&fault.to_string()));
}

#[tokio::test]
async fn two_tools_with_names_of_their_own_reach_their_own_providers() {
    let subagents = Subagents::new();
    let one = subagents.register("one", ScriptedProvider::replying("from one")).unwrap();
    let two = subagents.register("two", ScriptedProvider::replying("from two")).unwrap();
    let tools = ToolSet::new()
        .with(SubagentTool::builder(&one).build())
        .unwrap()
        .with(SubagentTool::builder(&two).name("reviewer").build())
        .unwrap();
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "reviewer", task("a")).tool_call(
            "2",
            "subagent",
            task("b"),
        ))
        .reply(says("done"));
    let mut agent = Agent::builder(Arc::new(model)).tools(tools).build();
    agent.run_turn(vec!["go".into()], TurnOptions::new()).await;
    let log = crate::support::log_of(&agent);
    let result =
        |id: &str| log.iter().find(|line| line.starts_with(&format!("result {id}"))).unwrap().clone();
    assert_eq!(framed(&result("1")), "from two");
    assert_eq!(framed(&result("2")), "from one");
}

#[tokio::test]
async fn what_is_configured_reaches_the_request_and_nothing_else_does() {
    let (subagents, provider, log) = scripted([Script::new().complete("done")]);
    let (events, _subscription) = recorded(&subagents);
    let steps = 7.try_into().unwrap();
    let configured = SubagentTool::builder(&provider)
        .child(move |request| {
            request.agent_type("profiler").max_depth(2).max_steps(steps).persona("Be brief.")
        })
        .build();
    configured.call(task("Do it"), context()).await;
    SubagentTool::builder(&provider).build().call(task("Do it"), context()).await;
    let requests = log.requests();
    assert_eq!(requests[0].agent_type.as_deref(), Some("profiler"));
    let options = json!(requests[0].capabilities);
    assert_eq!(options, json!({"depth-limit": 2, "step-limit": 7, "persona": "Be brief."}));
    assert_eq!((requests[1].agent_type.as_deref(), requests[1].capabilities.len()), (None, 0));
    let events = events.lock().unwrap();
    let labels: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Started(started) => Some(started.run.agent_type.as_deref().map(str::to_owned)),
            _ => None,
        })
        .collect();
    assert_eq!(labels, [Some("profiler".to_owned()), None]);
}

#[tokio::test]
async fn siblings_have_the_same_share_each() {
    let (_subagents, provider, log) = scripted([Script::new().complete("done")]);
    let steps = 3.try_into().unwrap();
    let tool = SubagentTool::builder(&provider).child(move |request| request.max_steps(steps)).build();
    futures::future::join_all((0..3).map(|_| tool.call(task("Do it"), context()))).await;
    let shares: Vec<_> =
        log.requests().iter().map(|request| request.capabilities["step-limit"].clone()).collect();
    assert_eq!(shares, [json!(3), json!(3), json!(3)]);
}

#[tokio::test]
async fn a_filter_that_permits_nothing_is_refused_and_one_that_only_denies_is_not() {
    let subagents = Subagents::new();
    let spawn =
        subagents.register("spawn", Spawn::new(ScriptedModel::new().then_always(says("done")))).unwrap();
    let read = subagent::agent::tool_fn("read", "Reads.", json!({"type": "object"}), async |_, _| "text");
    let parent = parent().with_tools(ToolSet::new().with(read).unwrap());
    let context = CallContext::new().parent(&parent);
    let filtered = |filter: ToolFilter| {
        SubagentTool::builder(&spawn).child(move |request| request.tool_filter(filter.clone())).build()
    };
    let nothing = filtered(ToolFilter::allow::<&str>([])).call(task("go"), context.clone()).await;
    assert!(nothing.is_error && said(&nothing).contains("allows no tool"), "{nothing:?}");
    let unknown = filtered(ToolFilter::deny(["write"])).call(task("go"), context.clone()).await;
    assert!(said(&unknown).contains("write") && said(&unknown).contains("read"), "{unknown:?}");
    let open = SubagentTool::builder(&spawn).build().call(task("go"), context).await;
    assert!(!open.is_error, "{open:?}");
}

#[tokio::test]
async fn without_a_calling_agent_nothing_is_delegated() {
    let (_subagents, provider, log) = scripted([Script::new().complete("done")]);
    for tool in [SubagentTool::builder(&provider).build()] {
        let output = tool.call(task("Do it"), CallContext::new()).await;
        assert!(output.is_error && said(&output).contains("No agent is known to be calling"), "{output:?}");
    }
    let background = toolset(&provider);
    let call = background.find("subagent").unwrap().call(crate::support::background_task("Do it"), context());
    let output = call.await;
    assert!(output.is_error && said(&output).contains("Nobody would own"), "{output:?}");
    assert!(log.requests().is_empty());
}

#[tokio::test]
async fn a_tool_may_come_before_its_provider_and_outlive_it() {
    let subagents = Subagents::new();
    let tool = SubagentTool::by_name(&subagents, "later").build();
    assert!(!tool.is_available() && tool.definition().description.contains("not available"));
    let output = tool.call(task("Do it"), context()).await;
    assert!(output.is_error && said(&output).contains("`later`"), "{output:?}");

    let registration = subagents.register("later", ScriptedProvider::replying("here")).unwrap();
    assert!(tool.is_available() && tool.definition().description.contains("sees nothing"));
    assert_eq!(framed(&said(&tool.call(task("Do it"), context()).await)), "here");
    let typed = SubagentTool::builder(&registration).build();
    drop(registration);
    assert!(!tool.is_available() && !typed.is_available());
    for tool in [tool, typed] {
        let output = tool.call(task("Do it"), context()).await;
        assert!(output.is_error && said(&output).contains("`later`"), "{output:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_stopped_cancels_its_child_once_and_says_so() {
    let (subagents, provider, log) = scripted([Script::new().text("so far").wait(Duration::from_mins(10))]);
    let (events, _subscription) = recorded(&subagents);
    let tool = SubagentTool::builder(&provider).build();
    let stop = CancellationToken::new();
    let call = tool.call(task("Do it"), context().cancellation(stop.clone()));
    let stopping = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        stop.cancel();
    };
    let (output, ()) = tokio::join!(call, stopping);
    assert!(output.is_error && said(&output).contains("it was cancelled"), "{output:?}");
    assert_eq!(framed(&said(&output)), "so far");
    assert_eq!((log.disposals(), log.live_children()), (1, 0));
    let ends: Vec<_> = events
        .lock()
        .unwrap()
        .iter()
        .filter_map(
            |event| if let Event::Ended(ended) = event { Some(ended.stop_reason.clone()) } else { None },
        )
        .collect();
    assert_eq!(ends, [StopReason::Aborted]);

    // A token that fired before the call never starts a child.
    let output = tool.call(task("Do it"), context().cancellation(stop)).await;
    assert!(output.is_error && said(&output).contains("cancelled"), "{output:?}");
    assert_eq!(log.requests().len(), 1);
}

#[tokio::test]
async fn a_dropped_call_leaves_no_child() {
    let (subagents, provider, log) = scripted([Script::new().wait(Duration::from_mins(10))]);
    let tool = SubagentTool::builder(&provider).build();
    let mut call = Box::pin(tool.call(task("Do it"), context()));
    while log.live_children() == 0 {
        tokio::select! { biased; _ = &mut call => unreachable!(), () = tokio::task::yield_now() => {} }
    }
    drop(call);
    subagents.shutdown().await;
    assert_eq!((log.disposals(), log.live_children()), (1, 0));
}

#[tokio::test]
async fn a_failed_cleanup_hides_no_result_and_is_told() {
    let (_subagents, provider, _) =
        scripted([Script::new().fail_dispose("the process lives on").complete("42")]);
    let output = SubagentTool::builder(&provider).build().call(task("Do it"), context()).await;
    let text = said(&output);
    assert!(output.is_error && text.contains("completed.") && framed(&text) == "42", "{text}");
    assert!(text.contains("Its cleanup failed") && text.contains("the process lives on"), "{text}");
}

#[tokio::test]
async fn siblings_that_wait_for_each_other_both_finish() {
    let (one, two) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let subagents = Subagents::new();
    let meet = {
        let (one, two) = (Arc::clone(&one), Arc::clone(&two));
        subagent::provider_fn(move |child: subagent::ChildContext| {
            let (one, two) = (Arc::clone(&one), Arc::clone(&two));
            async move {
                if child.request.prompt_text().starts_with("first") {
                    one.notify_one();
                    two.notified().await;
                } else {
                    two.notify_one();
                    one.notified().await;
                }
                "met"
            }
        })
    };
    let provider = subagents.register("meet", meet).unwrap();
    let tools = ToolSet::new().with(SubagentTool::builder(&provider).build()).unwrap();
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "subagent", task("first")).tool_call(
            "2",
            "subagent",
            task("second"),
        ))
        .reply(says("done"));
    let mut agent = Agent::builder(Arc::new(model)).tools(tools).build();
    let outcome = agent.run_turn(vec!["go".into()], TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    assert_eq!(times(&crate::support::log_of(&agent), "\nmet\n"), 2);
}

#[tokio::test]
async fn three_children_in_one_response_each_have_one_result() {
    let (subagents, provider, log) = scripted([
        ends_with(StopReason::Error),
        Script::new().text("half done").wait_for(&Arc::new(Notify::new())),
        Script::new().complete("all of it"),
    ]);
    // Whoever watches the tree stops one of them.
    let _subscription = {
        let watched = subagents.clone();
        subagents.subscribe(move |event| {
            if let Event::Started(started) = event
                && started.run.agent_type.as_deref() == Some("worker")
                && watched.runs().len() == 2
            {
                watched.control(started.run.run_id).unwrap().cancel("not needed");
            }
        })
    };
    let tool = SubagentTool::builder(&provider).child(|request| request.agent_type("worker")).build();
    let calls = ["1", "2", "3"].iter().fold(ScriptedReply::new(), |reply, id| {
        reply.tool_call(*id, "subagent", task(&format!("task {id}")))
    });
    let model = ScriptedModel::new().reply(calls).reply(says("collected"));
    let mut agent = Agent::builder(Arc::new(model)).tools(ToolSet::new().with(tool).unwrap()).build();
    let outcome = agent.run_turn(vec!["go".into()], TurnOptions::new()).await;
    assert_eq!((outcome.stop_reason, outcome.output.to_text()), (StopReason::Completed, "collected".into()));
    let events = crate::support::log_of(&agent);
    for id in ["1", "2", "3"] {
        assert_eq!(times(&events, &format!("call {id}: ")), 1, "{events:#?}");
        assert_eq!(times(&events, &format!("result {id}: ")), 1, "{events:#?}");
    }
    assert_eq!(times(&events, "it failed. Diagnostic: the reason why"), 1, "{events:#?}");
    assert_eq!(times(&events, "it was cancelled. Diagnostic: cancelled: not needed"), 1, "{events:#?}");
    assert_eq!(times(&events, "completed."), 1, "{events:#?}");
    assert_eq!((log.disposals(), log.live_children()), (3, 0));
}

#[tokio::test]
async fn a_long_result_is_cut_and_the_rest_can_be_read() {
    let long = "äöü ".repeat(10_000);
    let (_subagents, provider, _) = scripted([Script::new().complete(long.as_str())]);
    let tools = SubagentTool::builder(&provider).result_bytes(1001).in_background().build();
    let delegations = Delegations::new();
    let context = context().delegations(&delegations);
    let output = tools.find("subagent").unwrap().call(task("Do it"), context.clone()).await;
    let text = said(&output);
    let mut read = framed(&text).to_owned();
    assert!(!output.is_error && read.len() <= 1001, "{text}");
    let told = format!(
        "[cut: the first {} of {} bytes are shown; read on with `read_result`",
        read.len(),
        long.len()
    );
    assert!(text.contains(&told), "{text}");
    let id = crate::support::id_in(&text);
    while read.len() < long.len() {
        let arguments = json!({"agent_id": id.to_string(), "offset": read.len()});
        let piece = tools.find("read_result").unwrap().call(arguments, context.clone()).await;
        read.push_str(framed(&said(&piece)));
    }
    assert_eq!(read, long);
}

#[tokio::test]
async fn what_a_child_used_is_counted_once_whether_or_not_it_keeps_a_ledger() {
    let mut used = Usage::default();
    used.add(&ModelUsage::new("large", 100, 10));
    let subagents = Subagents::new();
    let plain = Script::new().settle(Outcome::completed("done").with_usage(used));
    let plain = subagents.register("plain", ScriptedProvider::new(plain)).unwrap();
    let model = ScriptedModel::new().named("large").then_always(says("done").usage(100, 10));
    let spawn = subagents.register("spawn", Spawn::new(model)).unwrap();
    for tool in [SubagentTool::builder(&plain).build(), SubagentTool::builder(&spawn).build()] {
        let ledger = UsageLedger::new();
        let parent = Parent::new("agent", "session").with_usage(ledger.clone());
        assert!(!tool.call(task("Do it"), CallContext::new().parent(&parent)).await.is_error);
        assert_eq!(ledger.usage().descendants, [ModelUsage::new("large", 100, 10)]);
        assert!(ledger.usage().own.is_empty());
    }
}

#[tokio::test]
async fn a_child_is_told_what_is_handed_back() {
    let model = ScriptedModel::new().then_always(says("done"));
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(model.clone())).unwrap();
    SubagentTool::builder(&spawn).build().call(task("Do it"), context()).await;
    let seen = |request: &ModelRequest| format!("{:?}", request.messages());
    assert!(seen(&model.requests()[0]).contains("Your last message is all that is handed back"));
}

#[tokio::test(start_paused = true)]
async fn a_child_at_work_is_no_silence_of_its_parent() {
    let busy = (0..10).fold(Script::new(), |script, _| script.text(".").wait(Duration::from_secs(5)));
    let (_subagents, provider, _) = scripted([busy.complete("done")]);
    let tools = ToolSet::new().with(SubagentTool::builder(&provider).build()).unwrap();
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "subagent", task("slow")))
        .reply(says("done"));
    let mut limits = subagent::agent::Limits::default();
    limits.idle = Some(Duration::from_secs(10));
    let mut agent = Agent::builder(Arc::new(model)).tools(tools).limits(limits).build();
    let outcome = agent.run_turn(vec!["go".into()], TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);
}

#[test]
fn a_tool_is_a_tool_of_the_built_in_agent() {
    let (_subagents, provider, _) = scripted([]);
    let tool = SubagentTool::builder(&provider).build();
    assert_eq!(Tool::definition(&tool), tool.definition());
}
