//! Messages to a live child, and follow-ups to a settled one.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::json;
use subagent::agent::{ModelError, ToolSet, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{
    ContentBlock, Event, FollowUp, Request, ResumeError, RunId, Spawn, SteerError, StopReason, ToolFilter,
};
use tokio::sync::Notify;

use super::support::{calls, conversation, parent, recorded, registered, says, shown, tools};

#[tokio::test]
async fn an_accepted_message_is_seen_between_two_steps_in_order() {
    let go_on = Arc::new(Notify::new());
    let model = ScriptedModel::new().reply(says("one").until(&go_on)).reply(says("two"));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let run = spawn.start(Request::new("go")).await.unwrap();
    model.called(1).await;
    run.send_message("first").await.unwrap();
    run.send_message("second").await.unwrap();
    go_on.notify_one();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!((&*result.text(), result.undelivered().len()), ("two", 0));
    assert_eq!(
        conversation(&model.requests()[1]),
        ["user: go", "assistant: one", "user: first", "user: second"]
    );
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn what_a_failed_or_cancelled_run_did_not_deliver_is_in_its_result() {
    let go_on = Arc::new(Notify::new());
    for cancelled in [false, true] {
        let model = ScriptedModel::new().reply(says("one").until(&go_on).error(ModelError::other("broken")));
        let (_subagents, spawn) = registered(Spawn::new(model.clone()));
        let run = spawn.start(Request::new("go")).await.unwrap();
        model.called(1).await;
        run.send_message("first").await.unwrap();
        if cancelled {
            run.cancel("stop");
        } else {
            go_on.notify_one();
        }
        let result = run.collect().await.into_result().unwrap();
        assert!(!result.is_completed());
        assert_eq!(result.undelivered(), [vec![ContentBlock::text("first")]]);
    }
}

#[tokio::test]
async fn a_message_that_was_not_delivered_is_not_sent_again_by_a_follow_up() {
    let model = ScriptedModel::new().reply(says("one").hang()).reply(says("two"));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let run = spawn.start(Request::new("go")).await.unwrap();
    model.called(1).await;
    run.send_message("first").await.unwrap();
    run.cancel("stop");
    let settled = run.settle().await;
    assert_eq!(settled.result().unwrap().undelivered(), [vec![ContentBlock::text("first")]]);
    let settled = settled.resume("more").await.unwrap().settle().await;
    let result = settled.result().unwrap();
    assert_eq!((&*result.text(), result.undelivered().len()), ("two", 0));
    let seen = conversation(&model.requests()[1]);
    assert_eq!(seen.last().unwrap(), "user: more");
    assert!(!seen.iter().any(|message| message.contains("first")), "{seen:?}");
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn a_message_to_a_run_that_is_over_is_refused() {
    let model = ScriptedModel::new().reply(says("done"));
    let (subagents, spawn) = registered(Spawn::new(model));
    let run = spawn.start(Request::new("go")).await.unwrap();
    let control = subagents.control(run.id()).unwrap();
    control.settled().await;
    assert!(matches!(run.send_message("late").await, Err(SteerError::Settled)));
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn a_message_that_the_model_cannot_read_is_refused_by_kind() {
    let model = ScriptedModel::new().reply(says("one").hang());
    let (_subagents, spawn) = registered(Spawn::new(model));
    let run = spawn.start(Request::new("go")).await.unwrap();
    let error = run.send_message(ContentBlock::image("aGk=", "image/png")).await.unwrap_err();
    assert!(error.to_string().contains("cannot carry image content"), "{error}");
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn a_follow_up_is_a_new_run_in_the_same_session() {
    let model = ScriptedModel::new().reply(says("one").usage(1, 1)).reply(says("two").usage(2, 2));
    let (subagents, spawn) = registered(Spawn::new(model.clone()));
    let (events, _subscription) = recorded(&subagents);
    let first = spawn.start(Request::new("go").agent_type("worker")).await.unwrap().settle().await;
    let (first_id, session) = (first.id(), first.run().session().header().id.clone());
    let id = RunId::new();
    let second = first.resume(FollowUp::new("more").run_id(id)).await.unwrap().settle().await;
    assert_eq!((second.id(), second.resumed_from()), (id, Some(first_id)));
    assert_eq!(second.run().session().header().id, session);
    let result = second.result().unwrap();
    assert_eq!((&*result.text(), result.usage().own[0].output_tokens), ("two", Some(2)));
    assert_eq!(conversation(&model.requests()[1]), ["user: go", "assistant: one", "user: more"]);
    second.dispose().await.unwrap();
    let events = events.lock().unwrap();
    let ids: Vec<_> = events
        .iter()
        .map(|event| match event {
            Event::Started(started) => ("started", started.run.run_id, started.run.resumed_from),
            Event::Ended(ended) => ("ended", ended.run.run_id, ended.run.resumed_from),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        ids,
        [
            ("started", first_id, None),
            ("ended", first_id, None),
            ("started", id, Some(first_id)),
            ("ended", id, Some(first_id))
        ]
    );
}

#[tokio::test]
async fn what_the_first_request_limits_stays_limited() {
    let model = ScriptedModel::new()
        .reply(says("one"))
        .reply(calls("read"))
        .reply(calls("write"))
        .reply(says("this far"));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let request = Request::new("go")
        .parent(&parent().with_tools(tools(&["read", "write"])))
        .tool_filter(ToolFilter::deny(["write"]))
        .max_steps(NonZeroU32::new(3).unwrap())
        .persona("You read.");
    let settled = spawn.start(request).await.unwrap().settle().await;
    let settled = settled.resume("more").await.unwrap().settle().await;
    assert_eq!(settled.result().unwrap().stop_reason(), &StopReason::TurnLimit);
    for request in model.requests() {
        assert_eq!(
            (shown(&request), request.system_prompt.as_deref()),
            (vec!["read".into()], Some("You read."))
        );
    }
    assert!(conversation(&model.requests()[3])[6].contains("no tool named `write`"));
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn a_child_that_was_cancelled_in_a_tool_call_is_resumed_with_a_balanced_log() {
    let work = tool_fn("work", "Never ends.", json!({}), async |_, context| {
        context.cancellation.cancelled().await;
        std::future::pending::<&str>().await
    });
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "work", json!({})))
        .reply(says("understood"));
    let top = parent().with_tools(ToolSet::new().with(work).unwrap());
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let run = spawn.start(Request::new("go").parent(&top)).await.unwrap();
    model.called(1).await;
    tokio::task::yield_now().await;
    run.cancel("stop");
    let settled = run.settle().await;
    assert_eq!(settled.result().unwrap().stop_reason(), &StopReason::Aborted);
    let settled = settled.resume("go on").await.unwrap().settle().await;
    assert_eq!(settled.result().unwrap().text(), "understood");
    let seen = conversation(&model.requests()[1]);
    assert_eq!(seen.len(), 4, "{seen:?}");
    assert!(seen[2].contains("whether it took effect is unknown"), "{seen:?}");
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn a_follow_up_that_is_refused_leaves_the_run_as_it_was() {
    let model = ScriptedModel::new().reply(says("one")).reply(says("two"));
    let (subagents, spawn) = registered(Spawn::new(model));
    let (events, _subscription) = recorded(&subagents);
    let settled = spawn.start(Request::new("go")).await.unwrap().settle().await;
    let image = ContentBlock::image("aGk=", "image/png");
    let (error, settled) = settled.resume(image).await.unwrap_err().into_parts();
    assert!(matches!(error, ResumeError::UnsupportedContent { .. }), "{error:?}");
    assert_eq!((settled.result().unwrap().text(), events.lock().unwrap().len()), ("one".into(), 2));
    let settled = settled.resume("more").await.unwrap().settle().await;
    assert_eq!(settled.result().unwrap().text(), "two");
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn a_run_built_without_steering_says_so_by_name_too() {
    let subagents = subagent::Subagents::new();
    let model = ScriptedModel::new().then_always(says("done"));
    let spawn = Spawn::builder().default_model(model).without_steering().build();
    let _registration = subagents.register("spawn", spawn).unwrap();
    let run = subagents.start("spawn", Request::new("go")).await.unwrap();
    let run = run.into_steerable().map(|_| ()).unwrap_err();
    let run = run.into_resumable().unwrap();
    let settled = run.settle().await.resume("more").await.unwrap().settle().await;
    assert_eq!(settled.result().unwrap().text(), "done");
    settled.dispose().await.unwrap();
}
