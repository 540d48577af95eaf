//! The protocol's words, read leniently: agents leave things out, add things and write `null`.

use serde_json::{Value, json};

use super::error::AcpAgentError;
use crate::stop_reason::StopReason;
use crate::usage::ModelUsage;

pub(super) const PROTOCOL_VERSION: i64 = 1;

/// A text member of an object.
pub(super) fn text_at(value: &Value, name: &str) -> Option<String> {
    value[name].as_str().map(str::to_owned)
}

/// The same text member of every object of an array.
pub(super) fn texts_at(array: &Value, name: &str) -> Vec<String> {
    array.as_array().into_iter().flatten().filter_map(|item| text_at(item, name)).collect()
}

pub(super) fn initialize_params(client_name: &str) -> Value {
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
        "clientInfo": { "name": client_name, "version": env!("CARGO_PKG_VERSION") },
    })
}

/// What an agent says of itself in its answer to `initialize`.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one ability the protocol names")]
pub(crate) struct AgentInfo {
    pub(crate) name: Option<String>,
    pub(crate) load: bool,
    pub(crate) resume: bool,
    pub(crate) close: bool,
    pub(crate) list: bool,
    pub(crate) image: bool,
    pub(crate) audio: bool,
    pub(crate) embedded_context: bool,
    pub(crate) mcp_http: bool,
    pub(crate) login_methods: Vec<String>,
    /// The whole answer, for extensions.
    pub(crate) answer: Value,
}

impl AgentInfo {
    /// Before the agent said anything.
    pub(super) fn unknown() -> Self {
        Self::read(Value::Null)
    }

    /// The agent's answer, or the protocol version it wants instead of ours.
    pub(super) fn parse(answer: Value) -> Result<Self, String> {
        let version = &answer["protocolVersion"];
        if version.as_i64() != Some(PROTOCOL_VERSION) {
            return Err(if version.is_null() { "none at all".to_owned() } else { version.to_string() });
        }
        Ok(Self::read(answer))
    }

    fn read(answer: Value) -> Self {
        let able = &answer["agentCapabilities"];
        let prompt = &able["promptCapabilities"];
        let session = &able["sessionCapabilities"];
        Self {
            name: text_at(&answer["agentInfo"], "name"),
            load: is_offered(&able["loadSession"]),
            resume: is_offered(&session["resume"]),
            close: is_offered(&session["close"]),
            list: is_offered(&session["list"]),
            image: is_offered(&prompt["image"]),
            audio: is_offered(&prompt["audio"]),
            embedded_context: is_offered(&prompt["embeddedContext"]),
            mcp_http: is_offered(&able["mcpCapabilities"]["http"]),
            login_methods: answer["authMethods"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|method| text_at(method, "name").or_else(|| text_at(method, "id")))
                .collect(),
            answer,
        }
    }
}

/// An ability is offered as `true` or as an object of its details.
fn is_offered(value: &Value) -> bool {
    matches!(value, Value::Bool(true) | Value::Object(_))
}

/// Why a turn ended, from the answer to its prompt; with what there is to say about it.
pub(super) fn stop_reason(answer: &Value) -> (StopReason, Option<String>) {
    let Some(word) = answer["stopReason"].as_str() else {
        return (StopReason::Error, Some("the agent gave no stop reason".to_owned()));
    };
    let (reason, said) = match word {
        "end_turn" => return (StopReason::Completed, None),
        "cancelled" => return (StopReason::Aborted, None),
        "max_tokens" => {
            (StopReason::MaxTokens, "the agent says that its model reached the limit of output tokens")
        }
        "max_turn_requests" => {
            (StopReason::TurnLimit, "the agent says that it reached its limit of model calls in one turn")
        }
        "refusal" => (StopReason::Refusal, "the agent says that it refuses to go on"),
        _ => {
            return (StopReason::Error, Some(format!("the agent gave the unknown stop reason {word:?}")));
        }
    };
    (reason, Some(said.to_owned()))
}

/// The tokens of a turn, where the agent tells them.
pub(super) fn turn_usage(answer: &Value) -> Option<ModelUsage> {
    let usage = answer["usage"].as_object()?;
    let count = |name: &str| usage.get(name).and_then(Value::as_u64);
    let read = ModelUsage {
        model: None,
        input_tokens: count("inputTokens"),
        output_tokens: count("outputTokens"),
        cache_read_tokens: count("cachedReadTokens"),
        cache_write_tokens: count("cachedWriteTokens"),
        reasoning_tokens: count("thoughtTokens"),
    };
    (read != ModelUsage::default()).then_some(read)
}

/// An error as its own message and what its data adds.
pub(super) fn agent_error(code: i64, message: &str, data: Option<&Value>) -> AcpAgentError {
    let detail = match data {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Object(fields)) => ["message", "details", "error", "reason"]
            .iter()
            .find_map(|name| fields.get(*name).and_then(Value::as_str).map(str::to_owned)),
        _ => None,
    };
    let message = match detail {
        Some(detail) if detail != message => format!("{message}: {detail}"),
        _ => message.to_owned(),
    };
    AcpAgentError { code, message: super::noise::shortened(&message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_reasons_are_those_of_the_seam_and_an_unknown_word_is_kept() {
        let of = |word: &str| stop_reason(&json!({ "stopReason": word }));
        assert_eq!(of("end_turn").0, StopReason::Completed);
        assert_eq!(of("max_tokens").0, StopReason::MaxTokens);
        assert_eq!(of("max_turn_requests").0, StopReason::TurnLimit);
        assert_eq!(of("refusal").0, StopReason::Refusal);
        assert_eq!(of("cancelled").0, StopReason::Aborted);
        let (reason, diagnostic) = of("out_of_cheese");
        assert_eq!(reason, StopReason::Error);
        assert!(diagnostic.unwrap().contains("out_of_cheese"));
        assert_eq!(stop_reason(&Value::Null).0, StopReason::Error);
    }

    #[test]
    fn an_answer_to_initialize_is_read_whatever_it_leaves_out() {
        let bare = AgentInfo::parse(json!({ "protocolVersion": 1, "agentCapabilities": null })).unwrap();
        assert!(!bare.load && !bare.resume && !bare.close && bare.login_methods.is_empty());
        let able = AgentInfo::parse(json!({
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": true,
                "sessionCapabilities": { "resume": {}, "close": null },
                "promptCapabilities": { "image": true },
            },
            "authMethods": [{ "id": "key" }],
        }))
        .unwrap();
        assert!(able.load && able.resume && !able.close && able.image && !able.audio);
        assert_eq!(able.login_methods, ["key"]);
    }

    #[test]
    fn another_protocol_version_is_told() {
        assert_eq!(AgentInfo::parse(json!({ "protocolVersion": 2 })).unwrap_err(), "2");
        assert_eq!(AgentInfo::parse(json!({ "protocolVersion": "1" })).unwrap_err(), "\"1\"");
        assert_eq!(AgentInfo::parse(Value::Null).unwrap_err(), "none at all");
    }
}
