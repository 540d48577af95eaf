//! Limits: reaching one is a stop reason of its own, and those asked for above bind everything below.

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::json;
use subagent::agent::{Limits, ToolSet};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{Request, Spawn, StopReason};

use super::support::{calls, delegate, parent, registered, says, tools};

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

#[tokio::test]
async fn the_step_limit_ends_the_turn_with_what_the_model_hands_over() {
    let model = ScriptedModel::new().reply(calls("read")).reply(calls("read")).reply(says("this far"));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let request = Request::new("go").parent(&parent().with_tools(tools(&["read"]))).max_steps(number(3));
    let result = spawn.start(request).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::TurnLimit, "this far"));
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn a_request_narrows_the_providers_limits_and_cannot_widen_them() {
    let model = ScriptedModel::new().then_always(says("done"));
    let mut limits = Limits::default();
    limits.output_tokens = Some(number(100));
    let (_subagents, spawn) =
        registered(Spawn::builder().default_model(model.clone()).limits(limits).build());
    for (asked, given) in [(50, 50), (500, 100)] {
        let request = Request::new("go").max_output_tokens(number(asked));
        spawn.start(request).await.unwrap().collect().await.into_result().unwrap();
        assert_eq!(model.requests().pop().unwrap().max_output_tokens, Some(number(given)));
    }
}

#[tokio::test]
async fn limits_bind_grandchildren() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})))
        .reply(says("cut").endless("…"))
        .then_always(says("done"));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let offered = ToolSet::new().with(delegate("delegate", &spawn)).unwrap();
    let request = Request::new("go")
        .parent(&parent().with_tools(offered))
        .max_output_tokens(number(20))
        .max_steps(number(4));
    let run = spawn.start(request).await.unwrap();
    assert!(run.collect().await.into_result().unwrap().is_completed());
    assert_eq!(model.requests()[1].max_output_tokens, Some(number(20)));
    let result = &super::support::conversation(&model.requests()[2])[2];
    assert_eq!(result, "results: the child ended with max_tokens");
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_ends_the_run_with_what_it_has() {
    let (_subagents, spawn) = registered(Spawn::new(ScriptedModel::new().reply(says("so far").hang())));
    let request = Request::new("go").time_limit(Duration::from_secs(30));
    let result = spawn.start(request).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::TimeLimit, "so far"));
}

#[tokio::test(start_paused = true)]
async fn the_idle_limit_ends_a_silent_child() {
    let mut limits = Limits::default();
    limits.idle = Some(Duration::from_secs(10));
    let model = ScriptedModel::new().reply(says("a").delay(Duration::from_secs(9)).text("b").hang());
    let (_subagents, spawn) = registered(Spawn::builder().default_model(model).limits(limits).build());
    let result = spawn.start(Request::new("go")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::TimeLimit, "ab"));
}
