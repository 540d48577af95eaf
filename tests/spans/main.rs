//! The spans of runs and tool calls, read back by a subscriber.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod kept;

use serde_json::json;
use subagent::agent::{Agent, ToolContext, ToolSet, TurnOptions, tool_fn};
use subagent::testing::{Script, ScriptedModel, ScriptedProvider, ScriptedReply};
use subagent::{
    ModelUsage, Outcome, Parent, Provider, ProviderHandle, Request, Spawn, Subagents, Usage, provider_fn,
};
use tracing::Instrument;

use crate::kept::Spans;

fn registered<P: Provider>(subagents: &Subagents, name: &'static str, provider: P) -> ProviderHandle<P> {
    subagents.register(name, provider).unwrap().leave_registered()
}

fn borrowed<'a>(fields: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    fields.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_delegation_is_one_trace_from_the_agent_to_the_grandchild() {
    let (spans, _guard) = Spans::installed();
    let subagents = Subagents::new();
    let looker = registered(&subagents, "looker", ScriptedProvider::replying("found"));
    let delegate = tool_fn("delegate", "Hands on.", json!({}), move |_, context: ToolContext| {
        let looker = looker.clone();
        async move {
            let request = Request::new("look").parent(&Parent::from(&context)).agent_type("looker");
            let run = looker.start(request).await.map_err(|error| error.to_string())?;
            run.collect().await.into_result().map_err(|error| error.to_string())?;
            Err::<String, _>("not there".to_owned())
        }
    });
    let model = ScriptedModel::new()
        .named("small")
        .reply(ScriptedReply::new().tool_call("call-1", "delegate", json!({})).usage(5, 1))
        .reply(ScriptedReply::new().text("done").usage(7, 2));
    let tools = ToolSet::new().with(delegate).unwrap();
    let spawn = Spawn::builder().default_model(model).tools(tools).build();
    let spawn = registered(&subagents, "spawn", spawn);

    let top = tracing::info_span!("top");
    let run = async { spawn.start(Request::new("go").agent_type("lead")).await.unwrap() };
    let settled = run.instrument(top).await.settle().await;
    let (id, session) = (settled.id().to_string(), settled.run().session().header().id.to_string());
    settled.dispose().await.unwrap();

    assert_eq!(
        spans.paths(),
        [
            "top",
            "top > invoke_agent lead",
            "top > invoke_agent lead > execute_tool delegate",
            "top > invoke_agent lead > execute_tool delegate > invoke_agent looker",
        ]
    );
    assert_eq!(
        borrowed(&spans.fields(1)),
        [
            ("gen_ai.agent.id", id.as_str()),
            ("gen_ai.agent.name", "lead"),
            ("gen_ai.conversation.id", &session),
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.provider.name", "subagent"),
            ("gen_ai.request.model", "small"),
            ("gen_ai.usage.input_tokens", "12"),
            ("gen_ai.usage.output_tokens", "3"),
            ("otel.kind", "internal"),
            ("otel.name", "invoke_agent lead"),
            ("subagent.depth", "1"),
            ("subagent.provider", "spawn"),
            ("subagent.run_id", &id),
            ("subagent.stop_reason", "completed"),
        ]
    );
    let tool: Vec<_> = spans.fields(2).into_iter().filter(|(name, _)| !name.starts_with("otel")).collect();
    assert_eq!(
        borrowed(&tool),
        [
            ("error.type", "tool_error"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.tool.call.id", "call-1"),
            ("gen_ai.tool.name", "delegate"),
            ("gen_ai.tool.type", "function"),
        ]
    );
    assert_eq!(spans.field(3, "subagent.parent_agent_id"), Some(id));
    assert_eq!(spans.open(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_span_tells_how_its_run_ended_whoever_ended_it() {
    let (spans, _guard) = Spans::installed();
    let subagents = Subagents::new();
    let mut usage = Usage::default();
    usage.add(&ModelUsage::new("m", 7, 3));
    let full = Script::new().settle(Outcome::error("the disk is full").with_usage(usage));
    let full = registered(&subagents, "full", ScriptedProvider::new(full));
    let hanging = registered(&subagents, "hanging", ScriptedProvider::new(Script::new()));
    let losing = registered(&subagents, "losing", ScriptedProvider::new(Script::new().lose_settlement()));
    let down = registered(&subagents, "down", ScriptedProvider::new(Script::new().fail_start("no route")));

    full.start(Request::new("go")).await.unwrap().collect().await.result.unwrap();
    let limited = Request::new("go").time_limit(std::time::Duration::from_secs(1));
    hanging.start(limited).await.unwrap().collect().await.result.unwrap();
    losing.start(Request::new("go")).await.unwrap().collect().await.result.unwrap_err();
    down.start(Request::new("go")).await.unwrap_err();
    let dropped = hanging.start(Request::new("go")).await.unwrap();
    drop(dropped);
    subagents.shutdown().await;

    let ends: Vec<_> = (0..5)
        .map(|at| {
            let field = |name| spans.field(at, name).unwrap_or_default();
            let (reason, kind) = (field("subagent.stop_reason"), field("error.type"));
            (reason, kind, field("otel.status_code"), field("otel.status_description"))
        })
        .collect();
    let ends: Vec<_> =
        ends.iter().map(|(a, b, c, d)| (a.as_str(), b.as_str(), c.as_str(), d.as_str())).collect();
    assert_eq!(ends[0], ("error", "error", "ERROR", "the disk is full"));
    assert_eq!((ends[1].0, ends[1].1, ends[1].2), ("time_limit", "time_limit", "ERROR"));
    assert_eq!((ends[2].0, ends[2].1, ends[2].2), ("error", "SETTLEMENT_LOST", "ERROR"));
    assert_eq!((ends[3].0, ends[3].2), ("", "ERROR"));
    assert!(ends[3].3.contains("no route") || ends[3].3.contains("could not start"), "{ends:?}");
    assert_eq!((ends[4].0, ends[4].1, ends[4].2), ("aborted", "", ""));
    assert_eq!(spans.field(0, "gen_ai.usage.input_tokens").as_deref(), Some("7"));
    assert_eq!(spans.open(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_has_a_span_of_its_own_in_the_same_conversation() {
    let (spans, _guard) = Spans::installed();
    let subagents = Subagents::new();
    let model = ScriptedModel::new().then_always(ScriptedReply::new().text("ok"));
    let spawn = registered(&subagents, "spawn", Spawn::new(model));
    let settled = spawn.start(Request::new("go")).await.unwrap().settle().await;
    let first = settled.id().to_string();
    settled.resume("more").await.unwrap().collect().await.result.unwrap();
    assert_eq!(spans.paths(), ["invoke_agent", "invoke_agent"]);
    assert_eq!(spans.field(1, "subagent.resumed_from"), Some(first));
    for same in ["gen_ai.conversation.id", "gen_ai.agent.id"] {
        assert!(spans.field(0, same).is_some());
        assert_eq!(spans.field(0, same), spans.field(1, same));
    }
    assert_eq!(spans.open(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_turn_of_an_agent_that_is_no_run_and_a_closure_are_traced_too() {
    let (spans, _guard) = Spans::installed();
    let model = ScriptedModel::new().reply(ScriptedReply::new().text("hi").usage(3, 1));
    let mut agent = Agent::builder(std::sync::Arc::new(model)).build();
    agent.run_turn(vec!["go".into()], TurnOptions::new()).await;
    assert_eq!(spans.field(0, "gen_ai.agent.id"), Some(agent.id().to_string()));
    assert_eq!(spans.field(0, "gen_ai.conversation.id"), Some(agent.session().header().id.to_string()));
    assert_eq!(spans.field(0, "gen_ai.usage.input_tokens").as_deref(), Some("3"));

    let inner = provider_fn(async |_| async { "ok" }.instrument(tracing::info_span!("inside")).await);
    let inner = registered(&Subagents::new(), "closure", inner);
    inner.start(Request::new("go").agent_type("mine")).await.unwrap().collect().await.result.unwrap();
    assert_eq!(spans.paths()[1..], ["invoke_agent mine", "invoke_agent mine > inside"]);
    assert_eq!(spans.open(), 0);
}
