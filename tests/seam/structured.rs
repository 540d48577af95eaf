#![cfg(feature = "typed-output")]

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use subagent::testing::{Script, ScriptedProvider};
use subagent::{
    Event, Outcome, Request, RunFault, Schema, StopReason, StructuredError, SubagentResult, Typed, Unchecked,
};

use crate::support::{Recorder, scripted};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Report {
    files: Vec<File>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct File {
    lines: u32,
}

fn completing(value: Option<Value>) -> ScriptedProvider {
    let mut outcome = Outcome::completed("said");
    outcome.structured = value;
    ScriptedProvider::new(Script::new().settle(outcome))
}

fn schema() -> Schema {
    Schema::new(json!({"type": "object"})).unwrap()
}

#[tokio::test]
async fn a_configured_value_is_delivered() {
    let value = json!({"files": [{"lines": 3}]});
    let (subagents, handle, log) =
        scripted(ScriptedProvider::replying("said").with_structured(value.clone()));
    let run = handle.start(Request::new("work").output::<Report>()).await.unwrap();
    let settled = run.settle().await;
    assert_eq!(settled.structured().unwrap(), Report { files: vec![File { lines: 3 }] });
    let result = settled.collect().await.into_result().unwrap();
    assert_eq!(result.structured().unwrap(), Report { files: vec![File { lines: 3 }] });
    assert_eq!((result.structured_json(), result.text().as_ref()), (Some(&value), "said"));
    assert!(log.requests()[0].capabilities["output-schema"]["properties"]["files"].is_object());

    let run = subagents.start("child", Request::new("work").output::<Report>()).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.structured().unwrap().files.len(), 1, "by name, it is as typed as before");
}

#[tokio::test]
async fn without_a_configured_value_it_is_the_reply() {
    let (_subagents, handle, _log) = scripted(ScriptedProvider::replying("said"));
    let run = handle.start(Request::new("work").output_schema(schema())).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.structured().unwrap(), json!({"reply": "said"}));
}

#[tokio::test]
async fn without_a_schema_there_is_no_value() {
    let (_subagents, handle, _log) = scripted(ScriptedProvider::replying("said").without_capabilities());
    let result = handle.start(Request::new("work")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(result.structured_json(), None);
    let (_subagents, handle, _log) = scripted(ScriptedProvider::replying("said"));
    let result = handle.start(Request::new("work")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(result.structured_json(), None);
}

#[tokio::test]
async fn a_completed_run_whose_value_does_not_fit_is_a_fault() {
    let wrong = [
        (json!({"files": [{"lines": 1}, {"lines": "many"}]}), "files[1].lines"),
        (json!({"files": 3}), "files"),
        (json!([]), ""),
        (json!(null), ""),
    ];
    for (value, path) in wrong {
        for by_name in [true, false] {
            let (subagents, handle, log) = scripted(completing(Some(value.clone())));
            let (recorder, _subscription) = Recorder::listen_to(&subagents);
            let request = Request::new("work").output::<Report>();
            let settled = if by_name {
                subagents.start("child", request).await.unwrap().settle().await
            } else {
                handle.start(request).await.unwrap().erase().settle().await
            };
            let fault = settled.result().unwrap_err().clone();
            let RunFault::WrongValue { run_id, reason } = &fault else { panic!("{fault:?}") };
            assert_eq!(*run_id, settled.id());
            assert!(reason.contains(path), "{reason}");
            assert_eq!(settled.structured(), Err(StructuredError::Fault(fault.clone())));
            ended_as_error_without_output(&recorder);
            settled.dispose().await.unwrap();
            assert_eq!(log.live_children(), 0);
        }
    }
}

fn ended_as_error_without_output(recorder: &Recorder) {
    let events = recorder.events();
    assert_eq!(events.len(), 2);
    let Event::Ended(ended) = &events[1] else { panic!("{events:?}") };
    assert_eq!(ended.stop_reason, StopReason::Error);
    assert_eq!(ended.output, None);
}

mod silent {
    use subagent::{OutputSchema, Provider, Settlement, StartError, StartRequest};

    use crate::support::TestRun;

    /// Takes the schema, completes, and hands over no value.
    pub(super) struct Silent;

    subagent::supports!(Silent: OutputSchema);

    impl Provider for Silent {
        type Run = TestRun;

        async fn start(
            &self,
            mut request: StartRequest,
            settlement: Settlement,
        ) -> Result<TestRun, StartError> {
            request.take::<OutputSchema>();
            settlement.complete("I am done");
            Ok(TestRun::default())
        }
    }
}

#[tokio::test]
async fn a_completed_run_without_the_value_is_a_fault() {
    let (subagents, handle) = crate::support::registered(silent::Silent);
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work").output::<Report>()).await.unwrap();
    let id = run.id();
    let fault = run.collect().await.into_result().unwrap_err();
    assert_eq!(fault, RunFault::MissingValue { run_id: id });
    ended_as_error_without_output(&recorder);

    let request: Request<Unchecked> =
        serde_json::from_value(json!({"prompt": "work", "capabilities": {"output-schema": true}})).unwrap();
    let fault = subagents.start("child", request).await.unwrap().collect().await.into_result().unwrap_err();
    assert_eq!(fault.code(), "MISSING_VALUE", "asked for at run time, it is missed as well");
}

#[tokio::test]
async fn a_run_that_did_not_complete_has_no_value() {
    let outcome = Outcome::new(StopReason::MaxTokens)
        .with_diagnostic("4096 tokens written")
        .with_structured(json!({"files": []}));
    let (_subagents, handle, _log) = scripted(ScriptedProvider::new(Script::new().settle(outcome)));
    let run = handle.start(Request::new("work").output::<Report>()).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    let error = result.structured().unwrap_err();
    assert_eq!(error.code(), "INCOMPLETE", "also where the provider handed over half a value: {error}");
    assert_eq!(
        error.to_string(),
        "the run ended with `max_tokens` and has no structured value: 4096 tokens written"
    );
    assert!(result.structured_json().is_some(), "which can still be looked at");
}

#[tokio::test]
async fn a_request_checked_at_run_time_has_a_value_where_it_carried_a_schema() {
    let (subagents, _, _log) = scripted(completing(Some(json!({"n": 1}))));
    let request = Request::new("work").erase().output_schema(schema());
    let settled = subagents.start("child", request).await.unwrap().settle().await;
    assert_eq!(settled.structured().unwrap(), json!({"n": 1}));
    settled.dispose().await.unwrap();

    let plain = Request::new("work").erase();
    let settled = subagents.start("child", plain).await.unwrap().settle().await;
    let error = settled.structured().unwrap_err();
    assert_eq!(error, StructuredError::NotRequested, "though the provider hands one over unasked");
    let result = settled.collect().await.into_result().unwrap();
    assert_eq!(result.structured(), Err(StructuredError::NotRequested));
}

#[tokio::test]
async fn a_result_read_back_gives_its_value() {
    let (_subagents, handle, _log) = scripted(completing(Some(json!({"files": []}))));
    let run = handle.start(Request::new("work").output::<Report>()).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    let json = serde_json::to_string(&result).unwrap();
    let read: SubagentResult<Typed<Report>> = serde_json::from_str(&json).unwrap();
    assert_eq!(read.structured().unwrap(), Report { files: Vec::new() });
    let other: SubagentResult<Typed<u32>> = serde_json::from_str(&json).unwrap();
    assert_eq!(other.structured().unwrap_err().code(), "MISMATCH");
}
