//! Which model a child runs on: the one asked for, else its parent's, else the provider's, never a made-up one.

use std::sync::Arc;

use serde_json::json;
use subagent::agent::{Agent, Model, ToolSet, UsageLedger, tool_fn};
use subagent::testing::ScriptedModel;
use subagent::{ChildSetupError, ModelUsage, Parent, Request, Spawn, StartError};
use tokio_util::sync::CancellationToken;

use super::support::{calls, chain, parent, recorded, registered, says};

fn named(name: &str) -> ScriptedModel {
    ScriptedModel::new().named(name).then_always(says(name))
}

fn spawn() -> Spawn {
    Spawn::builder().model(named("large")).default_model(named("default")).model(named("small")).build()
}

async fn runs_on(request: Request<(subagent::ModelChoice, ())>) -> String {
    let (_subagents, spawn) = registered(spawn());
    let result = spawn.start(request).await.unwrap().collect().await.into_result().unwrap();
    result.text().into_owned()
}

#[tokio::test]
async fn the_requests_model_is_used_where_the_parent_has_none() {
    assert_eq!(runs_on(Request::new("go").parent(&parent()).model("small")).await, "small");
}

#[tokio::test]
async fn the_requests_model_wins_over_the_parents() {
    assert_eq!(
        runs_on(Request::new("go").parent(&parent().with_model("large")).model("small")).await,
        "small"
    );
}

#[tokio::test]
async fn the_parents_model_is_inherited_by_name_and_else_the_default_stands() {
    let (_subagents, spawn) = registered(spawn());
    for (parent, expected) in [(parent().with_model("large"), "large"), (parent(), "default")] {
        let run = spawn.start(Request::new("go").parent(&parent)).await.unwrap();
        assert_eq!(run.run().session().header().model.as_deref(), Some(expected));
        assert_eq!(run.collect().await.into_result().unwrap().text(), expected);
    }
}

#[tokio::test]
async fn a_calling_agents_model_is_inherited_as_it_is() {
    let top = Agent::builder(Arc::new(named("unlisted"))).build();
    let caller = top.as_caller(CancellationToken::new(), UsageLedger::new());
    let (_subagents, spawn) = registered(spawn());
    let run = spawn.start(Request::new("go").parent(&Parent::from(&caller))).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "unlisted");
}

#[tokio::test]
async fn usage_names_the_model_that_it_was_spent_on() {
    let large = ScriptedModel::new()
        .named("large")
        .reply(calls("delegate").usage(1, 10))
        .reply(says("done").usage(2, 20));
    let small = ScriptedModel::new().named("small").reply(says("worked").usage(4, 40));
    let (_subagents, below) = registered(Spawn::builder().model(small).build());
    let delegate = tool_fn("delegate", "Delegates.", json!({"type": "object"}), move |_, context| {
        let start = below.start(Request::new("work").parent(&Parent::from(&context)).model("small"));
        async move { start.await.unwrap().collect().await.into_result().unwrap().text().into_owned() }
    });
    let tools = ToolSet::new().with(delegate).unwrap();
    let (_subagents, spawn) = registered(Spawn::builder().default_model(large).tools(tools).build());
    let result = spawn.start(Request::new("go")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(result.usage().own, [ModelUsage::new("large", 3, 30)]);
    assert_eq!(result.usage().descendants, [ModelUsage::new("small", 4, 40)]);
    let total = [ModelUsage::new("large", 3, 30), ModelUsage::new("small", 4, 40)];
    assert_eq!(result.usage().total(), total);
}

#[tokio::test]
async fn no_model_is_made_up() {
    let (subagents, spawn) = registered(Spawn::builder().model(named("large")).build());
    let (events, _subscription) = recorded(&subagents);
    let error = spawn.start(Request::new("go").parent(&parent())).await.unwrap_err();
    assert!(chain(&error).contains("no model is chosen"), "{}", chain(&error));
    let StartError::Failed { source, run_id: Some(_), .. } = error else { panic!("{error:?}") };
    assert_eq!(source.downcast_ref::<ChildSetupError>(), Some(&ChildSetupError::NoModel));
    assert!(events.lock().unwrap().is_empty() && spawn.provider().sessions().is_empty());
}

#[tokio::test]
async fn an_unknown_model_is_refused_with_the_known_ones() {
    let (_subagents, spawn) = registered(spawn());
    for request in [
        Request::new("go").model("smal"),
        Request::new("go").parent(&parent().with_model("smal")).model("smal"),
    ] {
        let error = chain(&spawn.start(request).await.unwrap_err());
        assert!(error.contains("no model named `smal`; known models: large, default, small"), "{error}");
    }
}

#[tokio::test]
async fn a_resolver_finds_models_that_were_not_added() {
    let resolve = |name: &str| (name == "remote").then(|| Arc::new(named("remote")) as Arc<dyn Model>);
    let (_subagents, spawn) = registered(Spawn::builder().resolve_models(resolve).build());
    let result = spawn.start(Request::new("go").model("remote")).await.unwrap().collect().await;
    assert_eq!(result.into_result().unwrap().text(), "remote");
    assert!(spawn.start(Request::new("go").model("other")).await.is_err());
}
