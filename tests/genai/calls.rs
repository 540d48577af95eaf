//! What reaches the vendor, and what comes back to an agent.

use std::num::NonZeroU32;
use std::sync::Arc;

use futures::StreamExt;
use serde_json::json;
use subagent::agent::{
    Agent, FinishReason, GenaiModel, GenaiSetupError, Limits, Model, ModelError, ModelEvent, ModelRequest,
    ResponseFormat, SessionHeader, SessionWriter, ToolSet, TurnOptions, tool_fn,
};
use subagent::{SessionId, StopReason};

use super::shape::{KEY, Part, Shape};
use super::vendor::{Answer, Vendor};

fn model(shape: Shape, vendor: &Vendor) -> GenaiModel {
    GenaiModel::builder(shape.model()).base_url(vendor.url()).key(KEY).build().unwrap()
}

/// An agent that looks up the weather of two cities at once, then answers.
async fn looks_up(shape: Shape, ids: [Option<&str>; 2]) -> (Vendor, Agent) {
    let calls = [
        Part::Call(ids[0], "look_up", r#"{"city": "Oslo"}"#),
        Part::Call(ids[1], "look_up", r#"{"city": "Rome"}"#),
    ];
    let vendor = Vendor::new([
        shape.response(&calls, if shape == Shape::OpenAi { "tool_calls" } else { "tool_use" }),
        shape
            .response(&[Part::Text("Both sunny.")], if shape == Shape::OpenAi { "stop" } else { "end_turn" }),
    ]);
    let look_up = tool_fn("look_up", "Looks up.", json!({"type": "object"}), async |arguments, _| {
        if arguments["city"] == "Rome" { Err("no such city") } else { Ok("sunny") }
    });
    let mut limits = Limits::default();
    limits.output_tokens = NonZeroU32::new(99);
    let mut agent = Agent::builder(Arc::new(model(shape, &vendor)))
        .system_prompt("You look up.")
        .tools(ToolSet::new().with(look_up).unwrap())
        .limits(limits)
        .build();
    let outcome = agent.run_turn(vec!["How is the weather?".into()], TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed, "{:?}", outcome.diagnostic);
    assert_eq!(outcome.output.to_text(), "Both sunny.");
    let [usage] = &outcome.usage.own[..] else { panic!("{:?}", outcome.usage) };
    assert_eq!(usage.model.as_deref(), Some(shape.model()));
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(22), Some(10)));
    (vendor, agent)
}

#[tokio::test]
async fn a_conversation_with_tools_reaches_an_open_ai_server() {
    let (vendor, _agent) = looks_up(Shape::OpenAi, [Some("id-oslo"), Some("id-rome")]).await;
    let asked = vendor.asked();
    assert!(asked[0].head.contains(&format!("authorization: bearer {KEY}")), "{}", asked[0].head);
    assert!(asked[0].head.starts_with("post /v1/chat/completions "), "{}", asked[0].head);
    let body = &asked[1].body;
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("played"), &json!(99)));
    assert_eq!(body["tools"][0]["function"]["name"], "look_up");
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[0], json!({"role": "system", "content": "You look up."}));
    assert_eq!(messages[1]["content"], "How is the weather?");
    assert_eq!(messages[2]["tool_calls"][0]["id"], "id-oslo");
    assert_eq!(messages[2]["tool_calls"][1]["function"]["arguments"], r#"{"city":"Rome"}"#);
    for (id, text) in [("id-oslo", "sunny"), ("id-rome", "Error: no such city")] {
        let result = messages.iter().find(|message| message["tool_call_id"] == id).unwrap();
        assert_eq!(result["content"], text);
    }
}

#[tokio::test]
async fn a_conversation_with_tools_reaches_an_anthropic_server() {
    let (vendor, _agent) = looks_up(Shape::Anthropic, [Some("id-oslo"), Some("id-rome")]).await;
    let asked = vendor.asked();
    assert!(asked[0].head.contains(&format!("x-api-key: {KEY}")), "{}", asked[0].head);
    let body = asked[1].body.to_string();
    for part in
        ["You look up.", "How is the weather?", "id-oslo", "id-rome", "Error: no such city", "look_up"]
    {
        assert!(body.contains(part), "{part} is missing: {body}");
    }
    assert_eq!(asked[1].body["max_tokens"], 99);
}

#[tokio::test]
async fn calls_without_an_id_get_one_of_their_own() {
    let (vendor, _agent) = looks_up(Shape::OpenAi, [None, None]).await;
    let body = &vendor.asked()[1].body;
    let calls = body["messages"][2]["tool_calls"].as_array().unwrap();
    let ids: Vec<_> = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert!(ids[0] != ids[1] && ids.iter().all(|id| id.starts_with("call-")), "{ids:?}");
}

fn request() -> ModelRequest {
    let mut session = SessionWriter::new(SessionHeader::new(SessionId::new()));
    let prompt: subagent::agent::SessionEventKind = serde_json::from_value(
        json!({"type": "user", "origin": "prompt", "content": [{"type": "text", "text": "Hi"}]}),
    )
    .unwrap();
    session.append(serde_json::from_value(json!({"type": "turn_start"})).unwrap()).unwrap();
    session.append(prompt).unwrap();
    ModelRequest::new(session.session().snapshot())
}

async fn error_of(model: &GenaiModel, request: ModelRequest) -> ModelError {
    let events: Vec<_> = model.stream(request).collect().await;
    events.into_iter().find_map(Result::err).expect("the call fails")
}

#[tokio::test]
async fn a_response_format_reaches_the_vendor_or_is_refused() {
    let mut request = request();
    request.response_format =
        Some(ResponseFormat::new("amount", json!({"type": "object", "properties": {}})));
    let vendor = Vendor::new([Shape::OpenAi.response(&[Part::Text("{}")], "stop")]);
    let error = error_of(&model(Shape::OpenAi, &vendor), request.clone()).await;
    assert_eq!(error.code(), "BAD_REQUEST");

    let declared =
        GenaiModel::builder("played").base_url(vendor.url()).response_format(true).build().unwrap();
    let events: Vec<_> = declared.stream(request).map(Result::unwrap).collect().await;
    assert_eq!(events.last(), Some(&ModelEvent::Finish(FinishReason::Stop)));
    let [asked] = &vendor.asked()[..] else { panic!("only the second call goes out") };
    assert_eq!(asked.body["response_format"]["json_schema"]["name"], "amount");
}

#[tokio::test]
async fn the_key_of_a_vendor_is_not_sent_to_another_address() {
    let vendor = Vendor::new([Shape::OpenAi.response(&[Part::Text("Hi")], "stop")]);
    let model = GenaiModel::builder("gpt-4.1").base_url(vendor.url()).build().unwrap();
    let _events: Vec<_> = model.stream(request()).collect().await;
    let asked = vendor.asked();
    assert!(asked[0].head.contains("authorization: bearer none"), "{}", asked[0].head);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Vendor::new([Shape::OpenAi.response(&[Part::Text("Hi")], "stop")]);
    let location = format!("location: {}\r\n", elsewhere.url());
    let vendor = Vendor::new([Answer::status("307 Temporary Redirect", &location, "{}")]);
    let error = error_of(&model(Shape::Anthropic, &vendor), request()).await;
    assert_eq!(error.code(), "BAD_REQUEST", "{error}");
    assert!(elsewhere.asked().is_empty());
}

#[test]
fn neither_key_nor_address_is_shown() {
    let builder = GenaiModel::builder("played").base_url("http://user:word@127.0.0.1/v1").key(KEY);
    let shown = [format!("{builder:?}"), format!("{:?}", builder.build().unwrap())].concat();
    assert!(!shown.contains(KEY) && !shown.contains("word"), "{shown}");
    let error = GenaiModel::builder("played").base_url("user:word@127.0.0.1").build().unwrap_err();
    assert!(matches!(error, GenaiSetupError::BaseUrl) && !error.to_string().contains("word"), "{error}");
}
