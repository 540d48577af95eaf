use serde_json::{Value, json};
use subagent::acp::{Acp, AcpBuilder, AcpStartError, McpRelay, PermissionPolicy};
use subagent::{Absent, Present, Registration, Request, StopReason, SubagentResult, Typed};

use super::answers::{Place, Report, Verdict};
use super::scene::{Scene, acp_error, patiently};

pub(crate) type TypedAcp = Registration<Acp<Absent, Present>>;

pub(crate) fn register(scene: &Scene, builder: AcpBuilder<Absent, Present>) -> TypedAcp {
    scene.subagents.register("typed", builder.build().unwrap()).unwrap()
}

pub(crate) fn typed(scene: &Scene) -> TypedAcp {
    register(scene, scene.agent(&["able=http"]).structured())
}

/// What comes of a run that follows this script.
async fn said<T>(scene: &Scene, script: &str) -> SubagentResult<Typed<T>>
where
    T: serde::de::DeserializeOwned + schemars::JsonSchema + Send + 'static,
{
    let provider = typed(scene);
    let request = Request::new(scene.fill(script)).output::<T>();
    let collected = patiently(patiently(provider.start(request)).await.unwrap().collect()).await;
    collected.disposal.unwrap();
    scene.assert_nothing_left();
    collected.result.unwrap()
}

#[tokio::test]
async fn structs_enums_and_lists_arrive_as_rust_values() {
    let Some(scene) = Scene::new() else { return };
    let report = said::<Report>(
        &scene,
        r#"deliver {"files": 1, "places": [{"path": "a"}]}
say Done."#,
    )
    .await;
    assert_eq!(report.stop_reason(), &StopReason::Completed);
    assert_eq!(report.text(), "[The result is delivered.]Done.");
    let places = vec![Place { path: "a".to_owned(), line: None }];
    assert_eq!(report.structured().unwrap(), Report { files: 1, places });

    let verdict = said::<Verdict>(&scene, r#"deliver {"result": {"Broken": {"why": "tests"}}}"#).await;
    assert_eq!(verdict.structured().unwrap(), Verdict::Broken { why: "tests".to_owned() });
    let numbers = said::<Vec<u8>>(&scene, r#"deliver {"result": [1, 2]}"#).await;
    assert_eq!(numbers.structured().unwrap(), [1, 2]);
}

#[tokio::test]
async fn the_child_is_shown_the_types_schema() {
    let Some(scene) = Scene::new() else { return };
    let said = said::<Verdict>(&scene, "tools\ndeliver {\"result\": \"Clean\"}").await;
    let text = said.text().into_owned();
    let tools: Vec<Value> = serde_json::from_str(&text[..text.rfind('[').unwrap()]).unwrap();
    assert_eq!(tools.len(), 1);
    assert_eq!(tools[0]["name"], "deliver_result");
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["result"]));
    assert!(tools[0]["inputSchema"]["properties"]["result"].to_string().contains("Broken"));
    assert_eq!(said.structured().unwrap(), Verdict::Clean);
}

#[tokio::test]
async fn a_value_that_does_not_fit_comes_back_with_the_place() {
    let Some(scene) = Scene::new() else { return };
    let said = said::<Report>(
        &scene,
        r#"deliver {"files": 1, "places": [{"path": 3}]}
deliver {"files": 2, "places": []}"#,
    )
    .await;
    assert!(said.text().starts_with("[ERROR The result does not fit: places[0].path: "), "{}", said.text());
    assert_eq!(said.structured().unwrap(), Report { files: 2, places: vec![] });
}

#[tokio::test]
async fn too_many_values_that_do_not_fit_end_the_turn() {
    let Some(scene) = Scene::new() else { return };
    let said =
        said::<Report>(&scene, "say Here.\ndeliver {\"a\": 1}\ndeliver {\"a\": 1}\ndeliver {\"a\": 1}\ndeliver {\"a\": 1}\nwait-cancel")
            .await;
    assert_eq!(said.stop_reason(), &StopReason::Error);
    assert!(said.diagnostic().unwrap().starts_with("the result did not fit, 3 times"), "{said:?}");
    assert!(said.text().starts_with("Here."), "the prose is kept: {}", said.text());
    assert!(said.text().contains("not taken any more"), "{}", said.text());
    assert_eq!(said.structured().unwrap_err().code(), "INCOMPLETE");
}

#[tokio::test]
async fn the_first_value_that_fits_counts_and_later_ones_are_refused() {
    let Some(scene) = Scene::new() else { return };
    let said = said::<Vec<u8>>(&scene, "deliver {\"result\": [1]}\ndeliver {\"result\": [2]}").await;
    assert!(said.text().contains("[ERROR The result was delivered before"), "{}", said.text());
    assert_eq!(said.structured().unwrap(), [1]);
}

#[tokio::test]
async fn a_child_that_ends_without_a_value_is_reminded_once() {
    let Some(scene) = Scene::new() else { return };
    let said_late =
        said::<Vec<u8>>(&scene, "on-reminder deliver {\"result\": [7]}\nsay Working on it.").await;
    assert_eq!(said_late.stop_reason(), &StopReason::Completed);
    assert_eq!(said_late.structured().unwrap(), [7]);
    assert_eq!(scene.log().matches("Your result is not delivered yet").count(), 1);

    let never = said::<Vec<u8>>(&scene, "on-reminder say It is seven.\nsay Seven.").await;
    assert_eq!(never.stop_reason(), &StopReason::Error);
    assert_eq!(never.text(), "It is seven.");
    assert!(never.diagnostic().unwrap().contains("without delivering"), "{never:?}");
    assert_eq!(scene.log().matches("Your result is not delivered yet").count(), 2);
}

#[tokio::test]
async fn a_child_that_stops_for_another_reason_is_not_reminded() {
    let Some(scene) = Scene::new() else { return };
    let said = said::<Vec<u8>>(&scene, "deliver {\"result\": [7]}\nstop max_tokens").await;
    assert_eq!(said.stop_reason(), &StopReason::MaxTokens);
    assert!(!scene.log().contains("not delivered yet"));
}

#[tokio::test]
async fn a_follow_up_asks_for_a_value_of_its_own() {
    let Some(scene) = Scene::new() else { return };
    let provider = typed(&scene);
    let request = Request::new("deliver {\"result\": [1]}").output::<Vec<u8>>();
    let settled = patiently(patiently(provider.start(request)).await.unwrap().settle()).await;
    assert_eq!(settled.structured().unwrap(), [1]);
    let again = patiently(settled.resume("deliver {\"result\": [2]}")).await.unwrap();
    let result = patiently(again.collect()).await.into_result().unwrap();
    assert_eq!(result.structured().unwrap(), [2]);
}

#[tokio::test]
async fn cancelled_in_the_middle_of_a_delivery_the_run_is_aborted() {
    let Some(scene) = Scene::new() else { return };
    let provider = typed(&scene);
    let request = Request::new(
        scene.fill("deliver {\"result\": [1]}\nservers {}/delivered\nwait-cancel\ndeliver {\"result\": [2]}"),
    );
    let run = patiently(provider.start(request.output::<Vec<u8>>())).await.unwrap();
    scene.appears("delivered").await;
    run.cancel("enough");
    let result = patiently(run.collect()).await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Aborted);
    assert!(result.structured().is_err());
}

#[tokio::test]
async fn a_request_without_a_type_is_served_nothing() {
    let Some(scene) = Scene::new() else { return };
    let provider = typed(&scene);
    let run =
        patiently(provider.start(Request::new(scene.fill("servers {}/served\nsay plain")))).await.unwrap();
    assert_eq!(patiently(run.collect()).await.into_result().unwrap().text(), "plain");
    assert_eq!(scene.appears("served").await, "[]");
}

#[tokio::test]
async fn an_agent_that_reaches_no_endpoint_is_not_started() {
    let Some(scene) = Scene::new() else { return };
    let provider = register(&scene, scene.agent(&[]).structured());
    let refused = patiently(provider.start(Request::new("say x").output::<Vec<u8>>())).await.unwrap_err();
    let refused = acp_error(refused);
    assert!(matches!(refused, AcpStartError::NoMcpTransport { .. }), "{refused}");
    assert_eq!(refused.code(), "NO_MCP_TRANSPORT");
    assert!(refused.to_string().contains("AcpBuilder::relay"), "{refused}");
    assert!(!scene.log().contains("session/new"));
}

#[tokio::test]
async fn only_the_capture_tool_is_permitted_without_asking() {
    let Some(scene) = Scene::new() else { return };
    let provider =
        register(&scene, scene.agent(&["able=http"]).permissions(PermissionPolicy::reject()).structured());
    let script = "ask-for other mcp__subagent__deliver_result\nask-for execute mcp__subagent__deliver_result\n\
                  ask-for other mcp__subagent__another\ndeliver {\"result\": [1]}";
    let run = patiently(provider.start(Request::new(script).output::<Vec<u8>>())).await.unwrap();
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert!(said.text().starts_with("[option 0][option 1][option 1]"), "{}", said.text());
}

#[tokio::test]
async fn an_agent_that_takes_no_http_is_served_by_the_relay() {
    let Some(scene) = Scene::new() else { return };
    let relay = McpRelay::new(env!("CARGO_BIN_EXE_subagent-mcp-relay"));
    let provider = register(&scene, scene.agent(&[]).relay(relay).structured());
    let script = scene.fill("servers {}/served\ndeliver {\"result\": \"seven\"}\ndeliver {\"result\": [7]}");
    let run = patiently(provider.start(Request::new(script).output::<Vec<u8>>())).await.unwrap();
    let servers: Value = serde_json::from_str(&scene.appears("served").await).unwrap();
    assert_eq!(servers[0].get("type"), None, "that is how the protocol writes a server over stdio");
    assert_eq!(servers[0]["args"], json!([]), "the token is no argument");
    let result = patiently(run.collect()).await;
    result.disposal.unwrap();
    let said = result.result.unwrap();
    assert!(said.text().starts_with("[ERROR The result does not fit"), "{}", said.text());
    assert_eq!(said.structured().unwrap(), [7]);
    scene.assert_nothing_left();
}

#[test]
fn the_relay_says_what_it_lacks() {
    let said = std::process::Command::new(env!("CARGO_BIN_EXE_subagent-mcp-relay")).output().unwrap();
    assert!(!said.status.success());
    let told = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(told.contains("SUBAGENT_MCP_RELAY_ADDRESS is not set"), "{told}");
}
