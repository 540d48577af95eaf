//! Who stands below whom.

use std::sync::Arc;

use serde_json::json;
use subagent::agent::{ToolContext, ToolSet, tool_fn};
use subagent::testing::{Script, ScriptedModel, ScriptedProvider, ScriptedReply};
use subagent::{
    DepthLimit, Parent, ProviderHandle, Request, SessionId, Spawn, StartError, Subagents, ToolFilter,
    provider_fn,
};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::support::{names, registered, secs};

/// A parent that delegates once in each turn, to a helper of its own.
fn delegating(subagents: &Subagents) -> ProviderHandle<Spawn> {
    let helpers = registered(subagents, "helpers", ScriptedProvider::replying("found it"));
    let delegate =
        tool_fn("delegate", "Hands work on.", json!({"type": "object"}), move |_, context: ToolContext| {
            let helpers = helpers.clone();
            async move {
                let request = Request::new("look").parent(&Parent::from(&context)).agent_type("helper");
                let run = helpers.start(request).await.map_err(|error| error.to_string())?;
                let result = run.collect().await.into_result().map_err(|error| error.to_string())?;
                Ok::<_, String>(result.text().into_owned())
            }
        });
    let call = || ScriptedReply::new().tool_call("", "delegate", json!({}));
    let done = || ScriptedReply::new().text("done");
    let model = ScriptedModel::new().reply(call()).reply(done()).reply(call()).reply(done());
    let tools = ToolSet::new().with(delegate).unwrap();
    registered(subagents, "spawn", Spawn::builder().default_model(model).tools(tools).build())
}

#[tokio::test(start_paused = true)]
async fn a_run_stands_below_the_run_whose_agent_delegated_it() {
    let subagents = Subagents::new();
    let watch = subagents.watch_tree();
    let spawn = delegating(&subagents);
    let top = Parent::new("main", "session-1");
    let run = spawn.start(Request::new("go").parent(&top).agent_type("lead")).await.unwrap();
    let id = run.id();
    run.collect().await.result.unwrap();

    let tree = watch.tree();
    assert_eq!(names(&tree), "lead(helper)");
    assert_eq!(tree.roots[0].children[0].run.parent_run(), Some(id));
    assert_eq!(tree.roots[0].run.parent_run(), None);
    let text = tree.to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "main");
    assert!(lines[1].starts_with("└─ lead (spawn) completed"), "{text}");
    assert!(lines[2].starts_with("   └─ helper (helpers) completed"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_a_follow_up_starts_stands_below_the_follow_up() {
    let subagents = Subagents::new();
    let watch = subagents.watch_tree();
    let spawn = delegating(&subagents);
    let settled = spawn.start(Request::new("go").agent_type("lead")).await.unwrap().settle().await;
    tokio::time::sleep(secs(1)).await;
    settled.resume("again").await.unwrap().collect().await.result.unwrap();
    assert_eq!(names(&watch.tree()), "lead(helper) lead(helper)");
    assert!(watch.tree().to_string().contains("follow-up"));
}

#[tokio::test(start_paused = true)]
async fn siblings_stand_in_the_order_of_their_start_and_agents_apart() {
    let subagents = Subagents::new();
    let watch = subagents.watch_tree();
    let plain = registered(&subagents, "plain", ScriptedProvider::replying("ok"));
    let (one, two) = (Parent::new("one", "s"), Parent::new("two", "s"));
    for (name, parent) in [("a", &one), ("b", &two), ("c", &one)] {
        let request = Request::new("go").parent(parent).agent_type(name);
        plain.start(request).await.unwrap().collect().await.result.unwrap();
        tokio::time::sleep(secs(1)).await;
    }
    assert_eq!(
        watch.tree().to_string(),
        "one\n├─ a (plain) completed 0.0s: ok\n└─ c (plain) completed 0.0s: ok\n\
         two\n└─ b (plain) completed 0.0s: ok"
    );
}

/// An agent id may be any text: one that names a run which cannot be the parent does no harm.
#[tokio::test(start_paused = true)]
async fn a_run_is_never_below_itself() {
    let subagents = Subagents::new();
    let watch = subagents.watch_tree();
    let plain = registered(&subagents, "plain", ScriptedProvider::replying("ok"));
    let id = subagent::RunId::new();
    let parent = Parent::new(id, "s");
    let run = plain.start(Request::new("go").parent(&parent).run_id(id).agent_type("self")).await.unwrap();
    run.collect().await.result.unwrap();
    assert_eq!(names(&watch.tree()), "self");
}

struct Honoured;
subagent::supports!(Honoured: DepthLimit, ToolFilter);

#[tokio::test(start_paused = true)]
async fn a_closure_hands_on_its_place_its_limits_and_its_cancellation() {
    let subagents = Subagents::new();
    let hanging = registered(&subagents, "hanging", ScriptedProvider::new(Script::new()));
    let seen = Arc::new(Mutex::new(None));
    let (started, mine) = (Arc::clone(&seen), hanging.clone());
    let agent = provider_fn(move |mut context| {
        let parent = context.request.as_parent(SessionId::new());
        context.request.take::<DepthLimit>();
        context.request.take::<ToolFilter>();
        let (hanging, started) = (mine.clone(), Arc::clone(&started));
        async move {
            let request = Request::new("wait").parent(&parent).agent_type("below");
            let run = hanging.start(request).await.expect("the filter is supported");
            *started.lock().await = Some(parent);
            run.collect().await.into_result().expect("cancelled").into_outcome()
        }
    })
    .supporting::<Honoured>();
    let agent = registered(&subagents, "agent", agent);

    let token = CancellationToken::new();
    let top = Parent::new("main", "s").with_max_depth(5).with_working_dir("/srv");
    let request = Request::new("go").parent(&top).agent_type("above").cancellation(token.clone());
    let run = agent.start(request.max_depth(3).tool_filter(ToolFilter::deny(["write"]))).await.unwrap();
    tokio::time::sleep(secs(1)).await;
    assert_eq!(names(&subagents.tree()), "above(below)");
    let parent = seen.lock().await.clone().unwrap();
    assert_eq!((parent.depth(), parent.max_depth()), (1, Some(3)));
    assert_eq!(parent.working_dir().unwrap().to_str(), Some("/srv"));
    assert!(!parent.tool_filter().unwrap().permits("write"));
    let deep = hanging.start(Request::new("x").parent(&parent.with_depth(3))).await.unwrap_err();
    assert!(matches!(deep, StartError::DepthExceeded { max_depth: 3, .. }), "{deep}");

    token.cancel();
    run.collect().await.result.unwrap();
    tokio::time::sleep(secs(3)).await;
    assert!(subagents.tree().is_empty(), "{}", subagents.tree());
}
