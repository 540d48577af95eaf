//! Requests that are made at run time: read from JSON, hostile JSON included, or erased on purpose; and the content
//! blocks in them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::error::Error as _;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use acme_agents::{Chat, GpuQuota, OneShot, Renderer};
use serde_json::{Map, Value, json};
use subagent::{
    Capability, CapabilitySet, ContentBlock, DepthLimit, EmbeddedResource, MismatchedCapabilities,
    ModelChoice, OutputSchema, Persona, Plain, ProviderBlock, ProviderContent, Refused, Request,
    ResourceContents, RunId, Schema, SnapshotError, StartError, StepLimit, Subagents, ToolFilter, Unchecked,
};

fn read(json: &str) -> Result<Request<Unchecked>, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

/// What reading `json` fails with, which names every one of `parts`.
#[track_caller]
fn assert_refused(json: &str, parts: &[&str]) {
    let error = read(json).err().unwrap_or_else(|| panic!("{json} was read"));
    for part in parts {
        assert!(error.contains(part), "{json}: `{part}` is not in: {error}");
    }
}

fn written<C>(request: &Request<C>) -> Value {
    serde_json::to_value(request).unwrap()
}

/// Starts by name on a provider that supports every built-in capability, one that supports none, or the third party's.
async fn start<C: CapabilitySet>(provider: &str, request: Request<C>) -> Result<String, StartError> {
    let subagents = Subagents::new();
    let _guards = (
        subagents.register("chat", Chat::default()).unwrap(),
        subagents.register("one-shot", OneShot).unwrap(),
        subagents.register("renderer", Renderer).unwrap(),
    );
    let run = subagents.start(provider, request).await?;
    Ok(run.collect().await.into_result().unwrap().text().into_owned())
}

#[tokio::test]
async fn a_request_from_json_has_all_that_the_portable_part_holds() {
    let id = RunId::new();
    let json = json!({
        "prompt": [{"type": "text", "text": "Count"}, {"type": "text", "text": "the words"}],
        "agent_type": "counter",
        "run_id": id,
        "idempotency_key": "once",
        "time_limit_ms": 60_000,
        "capabilities": {"depth-limit": 2, ModelChoice::NAME: "small", "persona": "a clerk"},
    });
    let request = read(&json.to_string()).unwrap();
    assert_eq!(request.capabilities().collect::<Vec<_>>(), ["depth-limit", ModelChoice::NAME, "persona"]);
    assert_eq!(written(&request), json);

    let typed = Request::new(vec!["Count".into(), "the words".into()])
        .agent_type("counter")
        .run_id(id)
        .idempotency_key("once")
        .time_limit(Duration::from_mins(1))
        .max_depth(2)
        .model("small")
        .persona("a clerk");
    assert_eq!(written(&typed), json);
    assert_eq!(start("chat", request).await.unwrap(), start("chat", typed).await.unwrap());
}

#[test]
fn a_prompt_is_text_or_blocks() {
    let text = read(r#"{"prompt": "Count the words"}"#).unwrap();
    let blocks = read(r#"{"prompt": [{"type": "text", "text": "Count the words"}]}"#).unwrap();
    assert_eq!(written(&text), written(&blocks));
    assert_refused(r#"{"prompt": 7}"#, &["a prompt: text, or a list of content blocks", "7"]);
    assert_refused(r#"{"prompt": null}"#, &["a prompt: text, or a list of content blocks"]);
    assert_refused(r#"{"prompt": ["bare"]}"#, &["bare"]);
    assert_refused(r"{}", &["prompt"]);
}

#[tokio::test]
async fn a_request_that_asks_for_nothing_is_refused() {
    for nothing in [r#"{"prompt": []}"#, r#"{"prompt": " "}"#] {
        let nothing = read(nothing).unwrap();
        assert!(matches!(start("chat", nothing).await, Err(StartError::EmptyPrompt)));
    }
}

#[test]
fn unknown_and_repeated_fields_are_named() {
    assert_refused(r#"{"prompt": "x", "promt": "y"}"#, &["promt", "agent_type", "capabilities"]);
    assert_refused(r#"{"prompt": "x", "max_depth": 2}"#, &["max_depth"]);
    assert_refused(r#"{"prompt": "x", "prompt": "y"}"#, &["duplicate field", "prompt"]);
    assert_refused(r#"{"prompt": "x", "parent": {"agent_id": "root"}}"#, &["parent"]);
}

#[test]
fn unknown_and_repeated_capabilities_are_named() {
    assert_refused(
        r#"{"prompt": "x", "capabilities": {"depth_limit": 2}}"#,
        &["unknown capability \"depth_limit\"", DepthLimit::NAME, Persona::NAME, "namespaced"],
    );
    assert_refused(
        r#"{"prompt": "x", "capabilities": {"persona": "a", "depth-limit": 1, "persona": "b"}}"#,
        &["\"persona\"", "twice"],
    );
    // What the builder's method is called is not the capability's name.
    assert_refused(
        r#"{"prompt": "x", "capabilities": {"model": "small"}}"#,
        &["unknown capability \"model\""],
    );
    assert_refused(r#"{"prompt": "x", "capabilities": {"": 2}}"#, &["unknown capability \"\""]);
    assert_refused(r#"{"prompt": "x", "capabilities": ["depth-limit"]}"#, &["capabilities by name"]);
    assert_refused(r#"{"prompt": "x", "capabilities": null}"#, &["capabilities by name"]);
}

#[tokio::test]
async fn a_namespaced_capability_is_checked_by_the_provider() {
    let quota = read(r#"{"prompt": "a teapot", "capabilities": {"acme/gpu-quota": 30}}"#).unwrap();
    assert!(start("renderer", quota.clone()).await.unwrap().contains("Some(30) GPU seconds"));
    let refused = start("chat", quota).await.unwrap_err();
    assert_eq!(refused.code(), "UNSUPPORTED_CAPABILITY");
    assert!(
        refused.to_string().contains("provider `chat` does not support")
            && refused.to_string().contains("`acme/gpu-quota`")
    );

    let other = read(r#"{"prompt": "x", "capabilities": {"other/thing": {"any": ["value"]}}}"#).unwrap();
    let refused = start("renderer", other).await.unwrap_err();
    assert!(
        matches!(refused, StartError::UnsupportedCapability { capability, .. } if capability == "other/thing")
    );
}

#[test]
fn malformed_json_is_refused() {
    for json in [
        "",
        "{",
        "null",
        "7",
        "\"Count\"",
        "[\"Count\"]",
        "{\"prompt\": \"x\"",
        "{\"prompt\": \"x\"} {}",
        "{'prompt': 'x'}",
    ] {
        assert!(read(json).is_err(), "{json}");
    }
    assert!(serde_json::from_slice::<Request<Unchecked>>(b"{\"prompt\": \"\xff\xfe\"}").is_err());
    assert!(serde_json::from_slice::<Request<Unchecked>>(b"{\"prompt\": \"\\ud800\"}").is_err());
    assert!(serde_json::from_slice::<Request<Unchecked>>(b"\xef\xbb\xbf{\"prompt\": \"x\"}").is_err());
    assert_refused(r#"["Count"]"#, &["an object with a `prompt`"]);
    assert_refused(r#"{"prompt": "x", "run_id": "not-an-id"}"#, &["UUID"]);
    assert_refused(r#"{"prompt": "x", "agent_type": 7}"#, &["7", "string"]);
    assert_refused(r#"{"prompt": "x", "time_limit_ms": -1}"#, &["-1"]);
    assert_refused(r#"{"prompt": "x", "time_limit_ms": 1.5}"#, &["1.5"]);
    assert_refused(r#"{"prompt": "x", "time_limit_ms": 1e400}"#, &["out of range"]);
    assert_refused(r#"{"prompt": "x", "time_limit_ms": 18446744073709551616}"#, &["expected u64"]);
}

#[test]
fn a_depth_bomb_is_refused() {
    let bomb = "[".repeat(200_000);
    for json in [
        bomb.clone(),
        format!(r#"{{"prompt": {bomb}"#),
        format!(r#"{{"prompt": "x", "capabilities": {{"acme/x": {bomb}"#),
        format!(r#"{{"prompt": [{{"type": "acme/x", "data": {bomb}"#),
        format!(r#"{{"prompt": "x", "capabilities": {{"output-schema": {}"#, r#"{"not":"#.repeat(200_000)),
    ] {
        assert!(read(&json).is_err());
    }
    assert_refused(&format!(r#"{{"prompt": "x", "capabilities": {{"acme/x": {bomb}"#), &["recursion limit"]);
}

#[tokio::test]
async fn the_longest_time_limit_does_not_overflow() {
    let request = read(r#"{"prompt": "x", "time_limit_ms": 18446744073709551615}"#).unwrap();
    assert_eq!(start("chat", request).await.unwrap(), "x");
}

#[tokio::test]
async fn a_value_of_the_wrong_type_is_refused_by_name_before_a_child_exists() {
    for (capability, value) in [
        (DepthLimit::NAME, json!("deep")),
        (DepthLimit::NAME, json!(-1)),
        (DepthLimit::NAME, json!(4_294_967_296_u64)),
        (DepthLimit::NAME, json!(1.5)),
        (DepthLimit::NAME, json!(null)),
        (StepLimit::NAME, json!(0)),
        (Persona::NAME, json!(["a", "b"])),
        (ToolFilter::NAME, json!({"allowed": ["read"]})),
        (<OutputSchema as Capability>::NAME, json!("string")),
    ] {
        let json = json!({"prompt": "x", "capabilities": {capability: value}}).to_string();
        let request = read(&json).unwrap();
        let refused = start("chat", request.clone()).await.unwrap_err();
        assert!(refused.to_string().contains(&format!("`{capability}`")), "{json}: {refused}");
        assert!(refused.source().is_some(), "{json}: {refused}");
        assert!(
            matches!(&refused, StartError::InvalidValue { capability: named, .. } if named == capability),
            "{json}: {refused}"
        );
        // A provider that lacks the capability says so, whatever the value.
        let refused = start("one-shot", request).await.unwrap_err();
        assert!(matches!(refused, StartError::UnsupportedCapability { .. }), "{json}: {refused}");
    }
}

#[tokio::test]
async fn the_first_unmet_capability_in_the_order_asked_is_named() {
    let unmet = async |request: Request<Unchecked>| match start("renderer", request).await {
        Err(StartError::UnsupportedCapability { provider, capability, .. }) if &*provider == "renderer" => {
            capability
        }
        other => panic!("{other:?}"),
    };
    let json = r#"{"prompt": "x", "capabilities": {"depth-limit": 2, "step-limit": 3, "persona": "a"}}"#;
    assert_eq!(unmet(read(json).unwrap()).await, "step-limit");
    let json =
        r#"{"prompt": "x", "capabilities": {"persona": "a", "depth-limit": "malformed", "step-limit": 3}}"#;
    assert_eq!(unmet(read(json).unwrap()).await, "persona");
    let typed = Request::new("x").max_depth(2).with::<GpuQuota>(1).model("small").persona("a");
    assert_eq!(unmet(typed.erase()).await, ModelChoice::NAME);
}

#[tokio::test]
async fn asking_twice_narrows() {
    let request =
        read(r#"{"prompt": "x", "capabilities": {"depth-limit": 2, "tool-filter": {"allow": ["a", "b"]}}}"#);
    let request = request.unwrap().max_depth(5).tool_filter(ToolFilter::allow(["b", "c"]));
    let capabilities = &written(&request)["capabilities"];
    assert_eq!(*capabilities, json!({"depth-limit": 2, "tool-filter": {"allow": ["b"]}}));

    let request = Request::new("x").max_depth(5).max_steps(NonZeroU32::MIN).max_depth(3).max_depth(4);
    assert_eq!(written(&request)["capabilities"], json!({"depth-limit": 3, "step-limit": 1}));
    assert_eq!(start("chat", request).await.unwrap(), "[depth 3] [1 steps] x");
}

#[tokio::test]
async fn what_a_run_has_once_is_not_asked_for_twice() {
    let twice = read(r#"{"prompt": "x", "capabilities": {"persona": "a poet"}}"#).unwrap().persona("a clerk");
    let refused = start("chat", twice).await.unwrap_err();
    assert!(matches!(refused, StartError::AskedTwice { capability: "persona" }), "{refused}");

    let schema = Schema::new(json!({"type": "string"})).unwrap();
    let twice = Request::new("x").output::<String>().erase().output_schema(schema);
    let refused = start("chat", twice).await.unwrap_err();
    assert!(matches!(refused, StartError::AskedTwice { capability: "output-schema" }), "{refused}");
}

#[tokio::test]
async fn an_erased_request_gets_its_types_back() {
    let typed = Request::new("x").max_depth(2).persona("a poet").output::<String>();
    let before = written(&typed);
    let erased = typed.erase();
    assert_eq!(written(&erased), before);

    let Err(Refused { error, value: erased }) = erased.try_into_typed::<(DepthLimit, ())>() else {
        panic!("something is left out")
    };
    assert!(
        matches!(&error, MismatchedCapabilities::LeftOut { capability } if capability == "persona"),
        "{error}"
    );
    let Err(Refused { error, value: erased }) =
        erased.try_into_typed::<(StepLimit, (OutputSchema<String>, (Persona, (DepthLimit, ()))))>()
    else {
        panic!("the step limit was not asked for")
    };
    assert!(matches!(error, MismatchedCapabilities::NotAsked { capability: "step-limit" }), "{error}");

    // In any order, and the request is as it was.
    let typed = erased.try_into_typed::<(DepthLimit, (Persona, (OutputSchema<String>, ())))>();
    let typed = typed.unwrap();
    assert_eq!(written(&typed), before);

    let subagents = Subagents::new();
    let chat = subagents.register("chat", Chat::default()).unwrap();
    let settled = chat.start(typed).await.unwrap().settle().await;
    let answer: String = settled.structured().unwrap();
    assert_eq!(answer, "[depth 2] [as a poet] x");
}

#[test]
fn a_request_from_json_gets_its_types_only_with_values_that_fit() {
    let read_one = |value: &str| {
        read(&format!(r#"{{"prompt": "x", "capabilities": {{"depth-limit": {value}}}}}"#)).unwrap()
    };
    let typed = read_one("2").try_into_typed::<(DepthLimit, ())>().unwrap();
    assert_eq!(written(&typed)["capabilities"], json!({"depth-limit": 2}));

    let Err(Refused { error, value: request }) = read_one("\"deep\"").try_into_typed::<(DepthLimit, ())>()
    else {
        panic!("it fits")
    };
    assert!(matches!(error, MismatchedCapabilities::Malformed { capability: "depth-limit", .. }), "{error}");
    assert!(error.source().is_some());
    assert_eq!(written(&request)["capabilities"], json!({"depth-limit": "deep"}));
}

/// Takes the name of another crate's capability, with a value of another type.
struct NotGpuQuota;

impl Capability for NotGpuQuota {
    const NAME: &'static str = GpuQuota::NAME;
    type Value = String;
    type Kind = Plain;

    fn narrow(_earlier: String, later: String) -> String {
        later
    }
}

#[test]
fn a_value_of_another_capability_of_the_same_name_is_told_apart() {
    let request = Request::new("x").with::<NotGpuQuota>("a lot".into()).erase();
    let Err(Refused { error, .. }) = request.try_into_typed::<(GpuQuota, ())>() else {
        panic!("a string is no quota")
    };
    assert!(matches!(error, MismatchedCapabilities::OtherType { capability: "acme/gpu-quota" }), "{error}");
}

/// Cannot be read at all.
#[derive(Clone, serde::Serialize)]
struct Explosive;

impl<'de> serde::Deserialize<'de> for Explosive {
    fn deserialize<D: serde::Deserializer<'de>>(_deserializer: D) -> Result<Self, D::Error> {
        panic!("it went off")
    }
}

impl Capability for Explosive {
    const NAME: &'static str = "acme/explosive";
    type Value = Self;
    type Kind = Plain;

    fn narrow(_earlier: Self, later: Self) -> Self {
        later
    }
}

struct Carrier;

subagent::supports!(Carrier: Explosive);

impl subagent::Provider for Carrier {
    type Run = acme_agents::OneShotRun;

    async fn start(
        &self,
        request: subagent::StartRequest,
        settlement: subagent::Settlement,
    ) -> Result<Self::Run, StartError> {
        OneShot.start(request, settlement).await
    }
}

#[tokio::test]
async fn a_value_whose_reading_panics_is_refused_like_any_other() {
    let read_it = || read(r#"{"prompt": "x", "capabilities": {"acme/explosive": 1}}"#).unwrap();
    let subagents = Subagents::new();
    let _registration = subagents.register("carrier", Carrier).unwrap();
    let error = subagents.start("carrier", read_it()).await.unwrap_err();
    assert_eq!(error.code(), "INVALID_VALUE");
    assert!(error.source().unwrap().to_string().contains("it went off"), "{error:?}");

    let Err(Refused { error, value: request }) = read_it().try_into_typed::<(Explosive, ())>() else {
        panic!("it was read")
    };
    assert!(matches!(error, MismatchedCapabilities::Malformed { .. }), "{error}");
    assert_eq!(request.with::<Explosive>(Explosive).capabilities().count(), 1);
}

#[test]
fn every_kind_of_content_block_survives_json() {
    let resource = |contents| ContentBlock::Resource(EmbeddedResource::new(contents));
    for (block, json) in [
        (ContentBlock::text("hi"), json!({"type": "text", "text": "hi"})),
        (
            ContentBlock::image("AAAA", "image/png"),
            json!({"type": "image", "data": "AAAA", "mimeType": "image/png"}),
        ),
        (
            ContentBlock::audio("AAAA", "audio/wav"),
            json!({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}),
        ),
        (
            ContentBlock::resource_link("notes", "file:///notes"),
            json!({"type": "resource_link", "name": "notes", "uri": "file:///notes"}),
        ),
        (
            resource(ResourceContents::Text { uri: "file:///a".into(), mime_type: None, text: "hi".into() }),
            json!({"type": "resource", "resource": {"uri": "file:///a", "text": "hi"}}),
        ),
        (
            resource(ResourceContents::Blob {
                uri: "file:///b".into(),
                mime_type: Some("application/pdf".into()),
                blob: "AAAA".into(),
            }),
            json!({"type": "resource", "resource": {"uri": "file:///b", "mimeType": "application/pdf", "blob": "AAAA"}}),
        ),
    ] {
        assert_eq!(serde_json::to_value(&block).unwrap(), json);
        assert_eq!(serde_json::from_value::<ContentBlock>(json).unwrap(), block);
    }
}

#[test]
fn a_malformed_content_block_is_refused_and_named() {
    for (json, part) in [
        (json!({"text": "hi"}), "needs a `type`"),
        (json!({"type": 7}), "needs a `type`"),
        (json!({"type": "video", "data": "AAAA"}), "\"video\""),
        (json!({"type": "text"}), "`text`"),
        (json!({"type": "text", "text": 7}), "in a content block of type \"text\""),
        (json!({"type": "image", "data": "AAAA"}), "`mimeType`"),
        (json!({"type": "/card"}), "on both sides"),
        (json!({"type": "acme/"}), "on both sides"),
    ] {
        let error = serde_json::from_value::<ContentBlock>(json.clone()).unwrap_err().to_string();
        assert!(error.contains(part), "{json}: `{part}` is not in: {error}");
    }
    assert_refused(r#"{"prompt": [{"type": "video"}]}"#, &["unknown content block type \"video\""]);
}

/// A card that counts how often it is looked at.
struct Card(Arc<AtomicU64>);

impl ProviderContent for Card {
    fn kind(&self) -> &'static str {
        "acme/card"
    }

    fn snapshot(&self) -> Result<Map<String, Value>, SnapshotError> {
        let seen = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(Map::from_iter([("seen".to_owned(), seen.into())]))
    }
}

/// A block whose content is gone.
struct Gone;

impl ProviderContent for Gone {
    fn kind(&self) -> &'static str {
        "acme/gone"
    }

    fn snapshot(&self) -> Result<Map<String, Value>, SnapshotError> {
        Err(SnapshotError::new("the file was deleted"))
    }
}

#[test]
fn a_provider_defined_block_keeps_its_type_and_fields() {
    let json = json!({"type": "acme/card", "title": "Report", "rows": [1, {"two": 3}]});
    let block: ContentBlock = serde_json::from_value(json.clone()).unwrap();
    let ContentBlock::Provider(card) = &block else { panic!("{block:?}") };
    assert_eq!(card.kind(), "acme/card");
    assert_eq!(serde_json::to_value(&block).unwrap(), json);
    assert_eq!(serde_json::from_value::<ContentBlock>(json).unwrap(), block);
}

#[test]
fn a_live_block_is_read_when_it_is_written_and_frozen_when_asked() {
    let looked = Arc::new(AtomicU64::new(0));
    let live = ProviderBlock::new(Card(Arc::clone(&looked)));
    let write = |block: &ProviderBlock| serde_json::to_value(ContentBlock::Provider(block.clone())).unwrap();
    assert_eq!(write(&live), json!({"type": "acme/card", "seen": 1}));
    assert_eq!(write(&live), json!({"type": "acme/card", "seen": 2}));
    let frozen = live.freeze().unwrap();
    assert_eq!(write(&frozen), json!({"type": "acme/card", "seen": 3}));
    assert_eq!(write(&frozen), json!({"type": "acme/card", "seen": 3}));
    assert_eq!(looked.load(Ordering::Relaxed), 3);
}

#[test]
fn a_block_that_cannot_be_read_fails_to_be_written_and_says_why() {
    let gone = ProviderBlock::new(Gone);
    assert_eq!(gone.freeze().unwrap_err().reason, "the file was deleted");
    assert!(gone != ProviderBlock::new(Gone), "what cannot be read is equal to itself alone");
    assert!(gone == gone.clone());
    let request = Request::new(vec!["Look at".into(), ContentBlock::Provider(gone)]);
    let error = serde_json::to_value(&request).unwrap_err().to_string();
    assert!(error.contains("the file was deleted"), "{error}");
}
