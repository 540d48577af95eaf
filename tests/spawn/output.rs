//! Structured output: a completed run has its value, however the model delivers it, and no other run claims to.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::json;
use subagent::agent::{ModelEvent, ModelRequest, ToolChoice, ToolSet, UsageLedger, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{
    Fork, ModelUsage, Parent, Request, Schema, Spawn, StopReason, StructuredError, ToolFilter, Typed,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::support::{calls, chain, conversation, parent, registered, says, shown, tools};

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Report {
    lines: u32,
    files: Vec<File>,
}

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct File {
    name: String,
}

fn report() -> serde_json::Value {
    json!({"lines": 3, "files": [{"name": "a"}]})
}

fn delivers(value: serde_json::Value) -> ScriptedReply {
    ScriptedReply::new().tool_call("d", "deliver_result", value)
}

async fn run(model: &ScriptedModel) -> subagent::SubagentResult<Typed<Report>> {
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let top = parent().with_tools(tools(&["read", "write"]));
    let run = spawn.start(Request::new("go").parent(&top).output::<Report>()).await.unwrap();
    run.collect().await.into_result().unwrap()
}

#[tokio::test]
async fn a_captured_value_completes_the_run_without_another_step() {
    let model = ScriptedModel::new().reply(delivers(report()));
    let result = run(&model).await;
    assert_eq!(result.stop_reason(), &StopReason::Completed);
    assert_eq!(result.structured().unwrap(), Report { lines: 3, files: vec![File { name: "a".into() }] });
    assert_eq!(model.requests().len(), 1);
    assert_eq!(shown(&model.requests()[0]), ["read", "write", "deliver_result"]);
    assert_eq!(model.requests()[0].response_format, None);
}

#[tokio::test]
async fn calls_before_the_capture_run_and_those_after_it_do_not() {
    let ran = Arc::new(std::sync::Mutex::new(Vec::new()));
    let tool = |name: &'static str| {
        let ran = Arc::clone(&ran);
        tool_fn(name, "Notes its name.", json!({}), move |_, _| {
            ran.lock().unwrap().push(name);
            async move { name }
        })
    };
    let offered = ToolSet::new().with(tool("before")).unwrap().with(tool("after")).unwrap();
    let reply = ScriptedReply::new()
        .tool_call("1", "before", json!({}))
        .tool_call("2", "deliver_result", report())
        .tool_call("3", "after", json!({}))
        .tool_call("2", "deliver_result", json!({"lines": 9, "files": []}));
    let (_subagents, spawn) =
        registered(Spawn::builder().default_model(ScriptedModel::new().reply(reply)).tools(offered).build());
    let settled = spawn.start(Request::new("go").output::<Report>()).await.unwrap().settle().await;
    assert_eq!(settled.structured().unwrap().lines, 3);
    assert_eq!(*ran.lock().unwrap(), ["before"]);
    // Each call has one result, and the log is a valid one.
    let mut log = Vec::new();
    settled.run().session().write_json_lines(&mut log).unwrap();
    subagent::agent::Session::read_json_lines(log.as_slice()).unwrap();
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn a_value_that_does_not_fit_goes_back_with_the_failing_path() {
    let model = ScriptedModel::new()
        .reply(delivers(json!({"lines": 3, "files": [{"name": 7}]})))
        .reply(ScriptedReply::new().event(ModelEvent::ToolCall {
            id: "e".into(),
            name: "deliver_result".into(),
            arguments: "{\"lines\":".into(),
        }))
        .reply(delivers(report()));
    let result = run(&model).await;
    assert!(result.is_completed());
    let seen = conversation(&model.requests()[2]);
    assert!(seen[2].contains("files[0].name: invalid type"), "{seen:?}");
    assert!(seen[4].contains("not a JSON object"), "{seen:?}");
}

/// A type with a rule of the host's own.
#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
#[serde(try_from = "u64")]
struct Even(u64);

impl TryFrom<u64> for Even {
    type Error = &'static str;

    fn try_from(number: u64) -> Result<Self, &'static str> {
        if number.is_multiple_of(2) { Ok(Self(number)) } else { Err("the number must be even") }
    }
}

#[tokio::test]
async fn a_value_that_the_host_rejects_is_no_value_and_the_model_goes_on() {
    let model = ScriptedModel::new()
        .reply(delivers(json!({"result": 3})))
        .reply(delivers(json!({"result": 4})))
        .then_always(delivers(json!({"result": 5})));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let result = spawn.start(Request::new("go").output::<Even>()).await.unwrap().collect().await;
    assert_eq!(result.into_result().unwrap().structured().unwrap(), Even(4));
    let seen = conversation(&model.requests()[1]);
    assert!(seen[2].contains("the number must be even"), "{seen:?}");

    let result = spawn.start(Request::new("go").output::<Even>()).await.unwrap().collect().await;
    let result = result.into_result().unwrap();
    assert_eq!((result.stop_reason(), result.structured_json()), (&StopReason::Error, None));
}

#[derive(Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
struct Exact {
    constructor: u64,
}

#[tokio::test]
async fn only_the_values_own_keys_count_and_no_number_loses_anything() {
    for wrong in
        [json!({}), json!({"constructor": 1.5}), json!({"constructor": "7"}), json!({"constructor": null})]
    {
        let model = ScriptedModel::new()
            .reply(delivers(wrong.clone()))
            .reply(delivers(json!({"constructor": u64::MAX, "toString": 1})));
        let (_subagents, spawn) = registered(Spawn::new(model.clone()));
        let run = spawn.start(Request::new("go").output::<Exact>()).await.unwrap();
        let result = run.collect().await.into_result().unwrap();
        assert_eq!(model.requests().len(), 2, "{wrong} does not pass");
        assert_eq!(result.structured().unwrap(), Exact { constructor: u64::MAX });
    }
}

#[tokio::test]
async fn too_many_values_that_do_not_fit_are_an_error_with_the_prose_and_the_last_mismatch() {
    let wrong = || says("I tried.").tool_call("d", "deliver_result", json!({"lines": -1, "files": []}));
    let model = ScriptedModel::new().reply(wrong()).reply(wrong()).reply(wrong());
    let result = run(&model).await;
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Error, "I tried."));
    let diagnostic = result.diagnostic().unwrap();
    assert!(
        diagnostic.contains("did not fit, 3 times") && diagnostic.contains("lines: invalid value"),
        "{diagnostic}"
    );
    assert!(matches!(result.structured(), Err(StructuredError::Incomplete { .. })));
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn an_end_in_prose_gets_one_reminder() {
    let model = ScriptedModel::new().reply(says("All done.")).reply(delivers(report()));
    let result = run(&model).await;
    assert_eq!(result.structured().unwrap().lines, 3);
    assert!(conversation(&model.requests()[1])[2].contains("Call `deliver_result`"));

    let model = ScriptedModel::new().reply(says("All done.")).reply(says("Really."));
    let result = run(&model).await;
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Error, "Really."));
    assert!(result.diagnostic().unwrap().contains("without delivering the result"));
    assert_eq!(model.requests().len(), 2);
}

#[tokio::test]
async fn a_cancel_beats_a_missing_and_a_staged_value() {
    // The call before the capture is running when the cancel comes.
    let reply =
        ScriptedReply::new().tool_call("1", "read", json!({})).tool_call("2", "deliver_result", report());
    for reply in [reply, says("prose").hang()] {
        let model = ScriptedModel::new().reply(reply);
        let tools = ToolSet::new()
            .with(tool_fn("read", "Hangs.", json!({}), async |_, _| std::future::pending::<&str>().await))
            .unwrap();
        let (_subagents, spawn) =
            registered(Spawn::builder().default_model(model.clone()).tools(tools).build());
        let run = spawn.start(Request::new("go").output::<Report>()).await.unwrap();
        model.called(1).await;
        tokio::task::yield_now().await;
        run.cancel("stop");
        let result = run.collect().await.into_result().unwrap();
        assert_eq!(result.stop_reason(), &StopReason::Aborted);
        assert_eq!(result.structured_json(), None);
    }
}

#[tokio::test]
async fn a_cancel_that_meets_the_last_prose_is_aborted_and_not_a_missing_value() {
    let go_on = Arc::new(Notify::new());
    let model = ScriptedModel::new().reply(says("All done.")).reply(says("Really.").until(&go_on));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let run = spawn.start(Request::new("go").output::<Report>()).await.unwrap();
    model.called(2).await;
    // The reply ends and the run is cancelled before the child's task runs again.
    go_on.notify_one();
    run.cancel("stop");
    let result = run.collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), result.structured_json()), (&StopReason::Aborted, None));
}

#[tokio::test]
async fn a_response_format_is_used_where_the_model_has_one() {
    let model = ScriptedModel::new().with_response_format().reply(says(&report().to_string()));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let run = spawn.start(Request::new("go").output::<Report>()).await.unwrap();
    let settled = run.settle().await;
    assert_eq!(settled.structured().unwrap().lines, 3);
    settled.dispose().await.unwrap();
    let request = &model.requests()[0];
    assert!(request.tools.is_empty());
    assert_eq!(request.response_format.as_ref().unwrap().schema["required"], json!(["lines", "files"]));
}

#[tokio::test]
async fn a_response_format_binds_the_last_answer_alone() {
    let model = ScriptedModel::new()
        .with_response_format()
        .reply(says("Let me look.").tool_call("1", "read", json!({})))
        .reply(says("Three lines."))
        .reply(says("{\"lines\": \"three\"}"))
        .reply(says(&report().to_string()));
    let result = run(&model).await;
    assert_eq!(result.structured().unwrap().lines, 3);
    let formats: Vec<bool> =
        model.requests().iter().map(|request| request.response_format.is_some()).collect();
    assert_eq!(formats, [false, false, true, true]);
    assert_eq!(model.requests()[2].tool_choice, ToolChoice::None);
    assert_eq!(shown(&model.requests()[2]), ["read", "write"]);
    let seen = conversation(&model.requests()[3]);
    assert!(seen.last().unwrap().contains("lines: invalid type"), "{seen:?}");
}

#[tokio::test]
async fn values_that_are_no_objects_are_wrapped() {
    let model = ScriptedModel::new()
        .reply(delivers(json!({"result": ["a"]})))
        .reply(delivers(json!(["a"])))
        .reply(delivers(json!({"result": ["b", "c"]})));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    for expected in [vec!["a".to_owned()], vec!["b".to_owned(), "c".to_owned()]] {
        let run = spawn.start(Request::new("go").output::<Vec<String>>()).await.unwrap();
        assert_eq!(run.collect().await.into_result().unwrap().structured().unwrap(), expected);
    }
    let request = &model.requests()[0];
    let schema = &request.tools.definitions().next().unwrap().input_schema;
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["result"])));
}

#[tokio::test]
async fn the_step_limit_keeps_a_value_that_is_delivered_at_the_end_and_is_no_success() {
    let limited = |model: &ScriptedModel| {
        let (_subagents, spawn) = registered(Spawn::new(model.clone()));
        let top = parent().with_tools(tools(&["read"]));
        let steps = NonZeroU32::new(2).unwrap();
        spawn.start(Request::new("go").parent(&top).output::<Report>().max_steps(steps))
    };
    let model = ScriptedModel::new().reply(calls("read")).reply(delivers(report()));
    let result = limited(&model).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::TurnLimit);
    assert_eq!(result.structured().unwrap_err().code(), "INCOMPLETE");
    assert_eq!(result.structured_json().unwrap()["lines"], 3);
    assert!(conversation(&model.requests()[1]).last().unwrap().contains("call `deliver_result`"));

    let model = ScriptedModel::new().reply(calls("read")).reply(calls("read"));
    let result = limited(&model).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), result.structured_json()), (&StopReason::TurnLimit, None));
}

#[tokio::test]
async fn a_message_that_comes_with_the_value_is_still_seen_and_the_later_value_counts() {
    let go_on = Arc::new(Notify::new());
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().until(&go_on).tool_call("1", "deliver_result", report()))
        .reply(delivers(json!({"lines": 4, "files": []})));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let run = spawn.start(Request::new("go").output::<Report>()).await.unwrap();
    model.called(1).await;
    run.send_message("count again").await.unwrap();
    go_on.notify_one();
    let settled = run.settle().await;
    assert_eq!(settled.structured().unwrap().lines, 4);
    assert_eq!(conversation(&model.requests()[1]).last().unwrap(), "user: count again");
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn the_output_type_stays_for_follow_ups() {
    let model =
        ScriptedModel::new().reply(delivers(report())).reply(delivers(json!({"lines": 4, "files": []})));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let settled = spawn.start(Request::new("go").output::<Report>()).await.unwrap().settle().await;
    let settled = settled.resume("again").await.unwrap().settle().await;
    assert_eq!(settled.structured().unwrap().lines, 4);
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn the_capture_tool_is_outside_the_filter_and_of_one_child_alone() {
    // Two children of different types at once, and a plain one.
    let model = ScriptedModel::new().then_always_with(|request: &ModelRequest| {
        let value = request.tools.definitions().find(|tool| tool.name == "deliver_result").map(|tool| {
            if tool.input_schema["required"] == json!(["result"]) {
                json!({"result": true})
            } else {
                report()
            }
        });
        value.map_or_else(|| says("plain"), delivers)
    });
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let top = parent().with_tools(tools(&["read", "write"]));
    let request = || Request::new("go").parent(&top).tool_filter(ToolFilter::allow(["read"]));
    let (a, b, plain) = tokio::join!(
        spawn.start(request().output::<Report>()),
        spawn.start(request().output::<bool>()),
        spawn.start(request())
    );
    let (a, b, plain) = tokio::join!(a.unwrap().collect(), b.unwrap().collect(), plain.unwrap().collect());
    assert_eq!(a.into_result().unwrap().structured().unwrap().lines, 3);
    assert!(b.into_result().unwrap().structured().unwrap());
    assert_eq!(plain.into_result().unwrap().text(), "plain");
    let mut seen: Vec<_> = model.requests().iter().map(shown).collect();
    seen.sort();
    let with = vec!["read".to_owned(), "deliver_result".to_owned()];
    assert_eq!(seen, [vec!["read".to_owned()], with.clone(), with]);
    // A filter cannot name it.
    let filter = ToolFilter::deny(["deliver_result"]);
    let error = spawn.start(Request::new("go").parent(&top).tool_filter(filter).output::<Report>()).await;
    assert!(chain(&error.unwrap_err()).contains("unknown tools (deliver_result)"));
}

#[tokio::test]
async fn grandchildren_do_not_inherit_the_capture_tool() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})))
        .reply(says("the grandchild's"))
        .reply(delivers(report()));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let tools = ToolSet::new().with(super::support::delegate("delegate", &spawn)).unwrap();
    let run =
        spawn.start(Request::new("go").parent(&parent().with_tools(tools)).output::<Report>()).await.unwrap();
    assert!(run.collect().await.into_result().unwrap().is_completed());
    assert_eq!(shown(&model.requests()[1]), ["delegate"]);
}

#[tokio::test]
async fn a_tool_of_the_same_name_stays_as_it_is() {
    let model = ScriptedModel::new().reply(calls("deliver_result")).reply(ScriptedReply::new().tool_call(
        "1",
        "deliver_result_",
        report(),
    ));
    let (_subagents, spawn) =
        registered(Spawn::builder().default_model(model.clone()).tools(tools(&["deliver_result"])).build());
    let run = spawn.start(Request::new("go").output::<Report>()).await.unwrap();
    assert!(run.collect().await.into_result().unwrap().is_completed());
    assert_eq!(conversation(&model.requests()[1])[2], "results: deliver_result");
}

#[tokio::test]
async fn a_fork_delivers_too() {
    let model = ScriptedModel::new().reply(says("read")).reply(delivers(report()).usage(1, 2));
    let mut top = subagent::agent::Agent::builder(Arc::new(model)).build();
    top.run_turn(vec!["read it".into()], subagent::agent::TurnOptions::new()).await;
    let top = Parent::from(&top.as_caller(CancellationToken::new(), UsageLedger::new()));
    let subagents = subagent::Subagents::new();
    let fork = subagents.register("fork", Fork::new()).unwrap();
    let run = fork.start(Request::new("report").parent(&top).output::<Report>()).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.structured().unwrap().lines, 3);
    assert_eq!(result.usage().own, [ModelUsage::new("scripted", 1, 2)]);
}

#[tokio::test]
async fn a_schema_without_a_type_is_refused_by_a_provider_that_does_not_check_schemas() {
    let schema = Schema::new(json!({"type": "object", "required": ["a"]})).unwrap();
    let (subagents, spawn) = registered(Spawn::new(ScriptedModel::new()));
    let error = spawn.start(Request::new("go").output_schema(schema)).await.unwrap_err();
    assert!(chain(&error).contains("`validate_schemas()`"), "{}", chain(&error));
    let json = r#"{"prompt": "go", "capabilities": {"output-schema": {"type": "object"}}}"#;
    let request: Request<subagent::Unchecked> = serde_json::from_str(json).unwrap();
    let error = subagents.start("spawn", request).await.unwrap_err();
    assert!(chain(&error).contains("`validate_schemas()`"), "{}", chain(&error));
    let json = r#"{"prompt": "go", "capabilities": {"output-schema": [1]}}"#;
    let request: Request<subagent::Unchecked> = serde_json::from_str(json).unwrap();
    assert_eq!(subagents.start("spawn", request).await.unwrap_err().code(), "INVALID_VALUE");
    assert!(spawn.provider().sessions().is_empty());
}

#[cfg(feature = "jsonschema")]
mod validated {
    use super::*;

    fn spawn(model: &ScriptedModel) -> Spawn {
        Spawn::builder().default_model(model.clone()).validate_schemas().build()
    }

    #[tokio::test]
    async fn a_value_is_held_to_the_whole_schema() {
        let model = ScriptedModel::new()
            .reply(delivers(json!({"count": 0, "name": "abc"})))
            .reply(delivers(json!({"count": 2, "name": "abc"})));
        let (_subagents, spawn) = registered(spawn(&model));
        let schema = json!({
            "type": "object",
            "properties": {"count": {"type": "integer", "minimum": 1}, "name": {"type": "string", "maxLength": 5}},
            "required": ["count", "name"],
        });
        let request = Request::new("go").output_schema(Schema::new(schema).unwrap());
        let run = spawn.start(request).await.unwrap();
        let result = run.collect().await.into_result().unwrap();
        assert_eq!(result.structured().unwrap(), json!({"count": 2, "name": "abc"}));
        let seen = conversation(&model.requests()[1]);
        assert!(seen[2].contains("at /count: 0 is less than the minimum of 1"), "{seen:?}");
    }

    #[tokio::test]
    async fn a_schema_that_is_none_is_refused_before_any_child() {
        let (_subagents, spawn) = registered(spawn(&ScriptedModel::new()));
        for broken in [json!({"type": "nonsense"}), json!({"$ref": "https://example.com/schema.json"})] {
            let request = Request::new("go").output_schema(Schema::new(broken).unwrap());
            let error = spawn.start(request).await.unwrap_err();
            assert_eq!(error.code(), "INVALID_VALUE");
            assert!(chain(&error).contains("the JSON schema cannot be used"), "{}", chain(&error));
        }
        assert!(spawn.provider().sessions().is_empty());
    }

    #[tokio::test]
    async fn a_typed_value_is_held_to_both() {
        let model = ScriptedModel::new().reply(delivers(report()));
        let (_subagents, spawn) = registered(spawn(&model));
        let run = spawn.start(Request::new("go").output::<Report>()).await.unwrap();
        assert_eq!(run.collect().await.into_result().unwrap().structured().unwrap().lines, 3);
    }
}
