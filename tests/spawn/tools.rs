//! Which tools a child has: its parent's or its provider's, and of those what every filter on the path permits.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use serde_json::json;
use subagent::agent::{Agent, SessionWriter, ToolSet};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{Capability, Event, Request, Spawn, StartError, ToolFilter, UnusableFilter};

use super::support::{
    calls, chain, conversation, delegate, parent, recorded, registered, says, shown, tools,
};

#[tokio::test]
async fn a_child_has_its_parents_tools_unless_its_provider_has_its_own() {
    let model = ScriptedModel::new().then_always(says("done"));
    let top = parent().with_tools(tools(&["read", "write"]));
    let (_subagents, inheriting) = registered(Spawn::new(model.clone()));
    let (_subagents, granting) =
        registered(Spawn::builder().default_model(model.clone()).tools(tools(&["search"])).build());
    for spawn in [&inheriting, &granting] {
        let run = spawn.start(Request::new("go").parent(&top)).await.unwrap();
        run.collect().await.into_result().unwrap();
    }
    assert_eq!(shown(&model.requests()[0]), ["read", "write"]);
    assert_eq!(shown(&model.requests()[1]), ["search"]);
}

#[tokio::test]
async fn a_filtered_tool_is_neither_shown_nor_executed() {
    let model = ScriptedModel::new().reply(calls("write")).reply(says("done"));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let top = parent().with_tools(tools(&["read", "write", "run"]));
    let filter = ToolFilter::allow(["read", "write"]).and(ToolFilter::deny(["write"]));
    let run = spawn.start(Request::new("go").parent(&top).tool_filter(filter)).await.unwrap();
    run.collect().await.into_result().unwrap();
    assert_eq!(shown(&model.requests()[0]), ["read"]);
    assert_eq!(
        conversation(&model.requests()[1])[2],
        "results: There is no tool named `write`. Known tools: read."
    );
}

#[tokio::test]
async fn unknown_names_and_empty_filters_are_refused_and_nothing_is_made() {
    let model = ScriptedModel::new();
    let (subagents, spawn) = registered(Spawn::new(model.clone()));
    let (events, _subscription) = recorded(&subagents);
    let top = parent().with_tools(tools(&["read", "write"]));
    let known: Vec<String> = vec!["read".into(), "write".into()];
    for (filter, expected) in [
        (
            ToolFilter::deny(["wirte"]),
            UnusableFilter::UnknownTools { unknown: vec!["wirte".into()], known: known.clone() },
        ),
        (ToolFilter::allow::<&str>([]), UnusableFilter::NothingAllowed { known: known.clone() }),
        (ToolFilter::deny(["read", "write"]), UnusableFilter::NothingAllowed { known }),
    ] {
        let error = spawn.start(Request::new("go").parent(&top).tool_filter(filter)).await.unwrap_err();
        let StartError::InvalidValue { ref capability, ref source, run_id: Some(_) } = error else {
            panic!("{error:?}")
        };
        assert_eq!(capability, ToolFilter::NAME);
        assert_eq!(source.downcast_ref(), Some(&expected));
        assert!(chain(&error).contains("read, write"), "{}", chain(&error));
    }
    assert!(events.lock().unwrap().is_empty() && spawn.provider().sessions().is_empty());
    assert!(model.requests().is_empty());
}

#[tokio::test]
async fn a_filter_binds_everything_below_the_child() {
    // The child's provider grants every tool again; what was denied above stays denied.
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})))
        .then_always(says("done"));
    let (_subagents, below) = registered(
        Spawn::builder().default_model(model.clone()).tools(tools(&["read", "write", "run"])).build(),
    );
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let offered = tools(&["read", "write"]).with(delegate("delegate", &below)).unwrap();
    let top = parent().with_tools(offered);
    let run =
        spawn.start(Request::new("go").parent(&top).tool_filter(ToolFilter::deny(["write"]))).await.unwrap();
    run.collect().await.into_result().unwrap();
    assert_eq!(shown(&model.requests()[0]), ["read", "delegate"]);
    assert_eq!(shown(&model.requests()[1]), ["read", "run"]);
}

#[tokio::test]
async fn a_name_that_is_denied_above_may_be_denied_again_but_not_allowed() {
    let model = ScriptedModel::new().then_always(says("done"));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let top = parent().with_tools(tools(&["read", "write"])).with_tool_filter(ToolFilter::deny(["write"]));
    let request = Request::new("go").parent(&top);
    let run = spawn.start(request.clone().tool_filter(ToolFilter::deny(["write"]))).await.unwrap();
    run.collect().await.into_result().unwrap();
    assert_eq!(shown(&model.requests()[0]), ["read"]);
    let error = spawn.start(request.tool_filter(ToolFilter::allow(["write"]))).await.unwrap_err();
    assert!(chain(&error).contains("allows no tool; name at least one of: read"), "{}", chain(&error));
}

#[tokio::test]
async fn a_filter_below_narrows_the_one_above_and_never_replaces_it() {
    let model = ScriptedModel::new().then_always(says("done"));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let offered = tools(&["read", "write", "run"]);
    let top = parent().with_tools(offered).with_tool_filter(ToolFilter::deny(["write"]));
    let request = Request::new("go").parent(&top).tool_filter(ToolFilter::deny(["read"]));
    let settled = spawn.start(request).await.unwrap().settle().await;
    assert_eq!(shown(&model.requests()[0]), ["run"]);
    let filter = settled.run().session().header().tool_filter.clone().unwrap();
    assert!(!filter.permits("read") && !filter.permits("write") && filter.permits("run"));
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn a_filter_survives_in_the_log() {
    let (_subagents, spawn) = registered(Spawn::new(ScriptedModel::new().reply(says("done"))));
    let top = parent().with_tools(tools(&["read", "write"]));
    let request = Request::new("go").parent(&top).tool_filter(ToolFilter::deny(["write"]));
    let settled = spawn.start(request).await.unwrap().settle().await;
    let mut log = Vec::new();
    settled.run().session().write_json_lines(&mut log).unwrap();
    settled.dispose().await.unwrap();
    let model = ScriptedModel::new().reply(says("done"));
    let mut again = Agent::builder(Arc::new(model.clone()))
        .session(SessionWriter::read_json_lines(log.as_slice()).unwrap())
        .tools(tools(&["read", "write"]))
        .build();
    again.run_turn(vec!["more".into()], subagent::agent::TurnOptions::new()).await;
    assert_eq!(shown(&model.requests()[0]), ["read"]);
}

#[tokio::test]
async fn what_binds_a_child_is_in_its_session_before_it_works() {
    let model = ScriptedModel::new().reply(says("done"));
    let (subagents, spawn) = registered(Spawn::new(model.clone()));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (headers, asked, listed) = (Arc::clone(&seen), model.clone(), spawn.clone());
    let _subscription = subagents.subscribe(move |event| {
        if let Event::Started(_) = event {
            let header = listed.provider().sessions()[0].header().clone();
            headers.lock().unwrap().push((asked.requests().len(), header));
        }
    });
    let top = parent().with_tools(tools(&["read", "write"])).with_max_depth(2);
    let steps = NonZeroU32::new(3).unwrap();
    let request = Request::new("go").parent(&top).tool_filter(ToolFilter::deny(["write"])).max_steps(steps);
    let run = spawn.start(request).await.unwrap();
    run.collect().await.into_result().unwrap();
    let seen = seen.lock().unwrap();
    let [(asked, header)] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((*asked, header.max_depth, header.max_steps), (0, Some(2), Some(steps)));
    let filter = header.tool_filter.as_ref().unwrap();
    assert!(filter.permits("read") && !filter.permits("write"));
}

#[tokio::test]
async fn a_tool_that_panics_is_an_error_for_the_model() {
    let broken =
        subagent::agent::tool_fn("work", "Breaks.", json!({}), async |_, _| -> &str { panic!("ouch") });
    let model = ScriptedModel::new().reply(calls("work")).reply(says("went on"));
    let top = parent().with_tools(ToolSet::new().with(broken).unwrap());
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let run = spawn.start(Request::new("go").parent(&top)).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "went on");
    assert!(conversation(&model.requests()[1])[2].contains("`work` failed: it panicked"));
}

#[tokio::test]
async fn a_filter_is_not_lost_on_a_provider_that_cannot_keep_it() {
    let (subagents, spawn) = registered(Spawn::new(ScriptedModel::new().then_always(says("kept"))));
    let (events, _subscription) = recorded(&subagents);
    let free = subagents.register("free", subagent::provider_fn(async |_| "lost")).unwrap();
    let bound = parent().with_tools(tools(&["read"])).with_tool_filter(ToolFilter::allow(["read"]));

    let error = free.start(Request::new("go").parent(&bound)).await.unwrap_err();
    assert_eq!(error.code(), "INHERITED_RESTRICTION");
    assert!(error.to_string().contains("`tool-filter`") && error.to_string().contains("`free`"), "{error}");
    let error = subagents.start("free", Request::new("go").parent(&bound)).await.unwrap_err();
    assert_eq!(error.code(), "INHERITED_RESTRICTION");
    assert!(!events.lock().unwrap().iter().any(|event| matches!(event, Event::Started(_))));

    let run = spawn.start(Request::new("go").parent(&bound)).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "kept");
}
