use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use subagent::acp::PermissionPolicy;
use subagent::{Request, StopReason, SubagentResult, Typed};

use super::agents::{RealAgent, assert_completed, with_each};
use super::answers::{Place, Report, Verdict, script};
use super::delivery::{TypedAcp, register};
use super::scene::{PATIENCE, patiently};

/// The tool as agents name it.
const DELIVER: &str = "deliver_result$";

fn typed(agent: &RealAgent) -> TypedAcp {
    register(agent, agent.builder().structured())
}

/// What comes of a run whose model does these steps.
async fn said<T>(agent: &RealAgent, provider: &TypedAcp, steps: Value) -> SubagentResult<Typed<T>>
where
    T: DeserializeOwned + schemars::JsonSchema + Send + 'static,
{
    let run = patiently(provider.start(Request::new(script(&steps)).output::<T>())).await.unwrap();
    let said = patiently(run.collect()).await;
    said.disposal.unwrap();
    said.result.unwrap_or_else(|fault| panic!("{}: {fault}", agent.name))
}

#[tokio::test]
async fn structs_enums_and_lists_arrive_as_rust_values() {
    with_each(async |agent| {
        let provider = typed(agent);
        let value = json!({"files": 2, "places": [{"path": "src/lib.rs", "line": 7}, {"path": "README.md"}]});
        let steps = json!([{"tool": DELIVER, "args": value}, {"text": "All done."}]);
        let report = said::<Report>(agent, &provider, steps).await;
        assert_completed(agent, &report, "All done.");
        let places = vec![
            Place { path: "src/lib.rs".to_owned(), line: Some(7) },
            Place { path: "README.md".to_owned(), line: None },
        ];
        assert_eq!(report.structured().unwrap(), Report { files: 2, places });

        let steps =
            json!([{"tool": DELIVER, "args": {"result": {"Broken": {"why": "a test"}}}}, {"text": "So."}]);
        let verdict = said::<Verdict>(agent, &provider, steps).await;
        assert_eq!(verdict.structured().unwrap(), Verdict::Broken { why: "a test".to_owned() });

        let steps = json!([{"tool": DELIVER, "args": {"result": [1, 2]}}, {"text": "So."}]);
        let numbers = said::<Vec<u8>>(agent, &provider, steps).await;
        assert_eq!(numbers.structured().unwrap(), [1, 2]);
    })
    .await;
}

#[tokio::test]
async fn a_wrong_value_comes_back_and_a_right_one_counts() {
    with_each(async |agent| {
        let wrong = json!({"files": "many", "places": []});
        let right = json!({"files": 3, "places": []});
        let steps =
            json!([{"tool": DELIVER, "args": wrong}, {"tool": DELIVER, "args": right}, {"text": "Corrected."}]);
        let said = said::<Report>(agent, &typed(agent), steps).await;
        assert_completed(agent, &said, "Corrected.");
        assert_eq!(said.structured().unwrap(), Report { files: 3, places: vec![] });
        crate::model_was_told(agent, "does not fit: files: ");
    })
    .await;
}

#[tokio::test]
async fn without_a_call_there_is_a_reminder_and_then_an_error() {
    with_each(async |agent| {
        let provider = typed(agent);
        let steps =
            json!([{"text": "Three."}, {"tool": DELIVER, "args": {"result": [3]}}, {"text": "There."}]);
        let late = said::<Vec<u8>>(agent, &provider, steps).await;
        assert_completed(agent, &late, "There.");
        assert_eq!(late.structured().unwrap(), [3]);

        let steps = json!([{"text": "Three."}, {"text": "I said three."}]);
        let never = said::<Vec<u8>>(agent, &provider, steps).await;
        assert_eq!(never.stop_reason(), &StopReason::Error, "{}", agent.name);
        assert_eq!(never.text(), "I said three.", "{}", agent.name);
    })
    .await;
}

#[tokio::test]
async fn two_runs_at_once_deliver_to_their_own() {
    with_each(async |agent| {
        let provider = typed(agent);
        let one = json!([{"tool": DELIVER, "args": {"result": [1]}}, {"text": "So."}]);
        let other = json!([{"tool": DELIVER, "args": {"result": ["other"]}}, {"text": "So."}]);
        let (one, other) = tokio::join!(
            said::<Vec<u8>>(agent, &provider, one),
            said::<Vec<String>>(agent, &provider, other)
        );
        assert_eq!(one.structured().unwrap(), [1]);
        assert_eq!(other.structured().unwrap(), ["other"]);
    })
    .await;
}

#[tokio::test]
async fn a_run_that_is_cancelled_after_its_delivery_is_aborted() {
    with_each(async |agent| {
        let provider = typed(agent);
        let steps = json!([{"tool": DELIVER, "args": {"result": [1]}}, {"hang": true}]);
        let request = Request::new(script(&steps)).output::<Vec<u8>>();
        let run = patiently(provider.start(request)).await.unwrap();
        agent.model_heard("\"kind\": \"hang\"").await;
        run.cancel("enough");
        let said = patiently(run.collect()).await.into_result().unwrap();
        assert_eq!(said.stop_reason(), &StopReason::Aborted, "{}", agent.name);
        assert!(said.structured().is_err());
    })
    .await;
}

#[tokio::test]
async fn what_else_the_child_wants_to_do_is_still_asked_for() {
    with_each(async |agent| {
        let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let heard = std::sync::Arc::clone(&asked);
        let policy = PermissionPolicy::ask(PATIENCE, move |request| {
            heard.lock().unwrap().push(request.title.unwrap_or_default());
            std::future::ready(subagent::acp::PermissionDecision::Deny)
        });
        let provider = register(agent, agent.builder().permissions(policy).structured());
        let deliver = json!({"tool": DELIVER, "args": {"result": [1]}});
        // Codex ends a turn whose command was denied: the value comes first.
        let command = if agent.name == "claude" {
            json!({"tool": "^Bash$", "args": {"command": "touch ran.txt"}})
        } else {
            json!({"tool": "^exec_command$", "args": {"cmd": "touch ran.txt"}})
        };
        let said = said::<Vec<u8>>(agent, &provider, json!([deliver, command, {"text": "So."}])).await;
        let asked = asked.lock().unwrap().clone();
        assert_eq!(asked.len(), 1, "{}: {asked:?} {said:?}", agent.name);
        assert!(asked[0].contains("touch ran.txt"), "{}: {asked:?}", agent.name);
        assert!(!agent.exists("ran.txt"));
    })
    .await;
}
