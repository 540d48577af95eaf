//! Limits: reaching one is a stop reason of its own, and those asked for above bind everything below.

use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::json;
use subagent::agent::{Limits, ToolSet, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{Parent, Request, Spawn, StopReason};

use super::support::{calls, conversation, delegate, parent, registered, says, tools};

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
    let result = &conversation(&model.requests()[2])[2];
    assert_eq!(result, "results: the child ended with max_tokens");
}

#[tokio::test]
async fn a_step_limit_above_binds_a_child_that_asks_for_more() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})))
        .then_always(ScriptedReply::new().tool_call("", "read", json!({})));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let below = spawn.clone();
    let delegate = tool_fn("delegate", "Delegates.", json!({}), move |_, context| {
        let request = Request::new("work").parent(&Parent::from(&context)).max_steps(number(50));
        let start = below.start(request);
        async move { start.await.unwrap().collect().await.into_result().unwrap().stop_reason().to_string() }
    });
    let top = parent().with_tools(tools(&["read"]).with(delegate).unwrap());
    let run = spawn.start(Request::new("go").parent(&top).max_steps(number(2))).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().stop_reason(), &StopReason::TurnLimit);
    // The child's two, and its parent's two.
    assert_eq!(model.requests().len(), 4);
    assert_eq!(conversation(&model.requests()[3])[2], "results: turn_limit");
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

#[tokio::test(start_paused = true)]
async fn a_busy_child_is_a_sign_of_life_of_the_agents_above_it() {
    let slow = (0..5).fold(ScriptedReply::new(), |reply, _| reply.delay(Duration::from_secs(8)).text("."));
    let delegating = || ScriptedReply::new().tool_call("1", "delegate", json!({}));
    let model =
        ScriptedModel::new().reply(delegating()).reply(delegating()).reply(slow).then_always(says("done"));
    let mut limits = Limits::default();
    limits.idle = Some(Duration::from_secs(10));
    let (_subagents, spawn) =
        registered(Spawn::builder().default_model(model.clone()).limits(limits).build());
    let top = parent().with_tools(ToolSet::new().with(delegate("delegate", &spawn)).unwrap());
    let result = spawn.start(Request::new("go").parent(&top)).await.unwrap().collect().await;
    assert_eq!(result.into_result().unwrap().stop_reason(), &StopReason::Completed);
    assert_eq!(model.requests().len(), 5);
}
