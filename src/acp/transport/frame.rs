use agent_client_protocol::{RawJsonRpcMessage, TransportFrame};
use serde_json::{Map, Value, json};

/// What one line is.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    Message(RawJsonRpcMessage),
    /// Nothing but white space.
    Blank,
    /// Not a JSON-RPC object.
    Noise,
}

pub(super) fn parse(line: &str) -> Incoming {
    let line = line.trim_start_matches('\u{feff}').trim();
    if line.is_empty() {
        return Incoming::Blank;
    }
    if !line.starts_with('{') {
        return Incoming::Noise;
    }
    match TransportFrame::parse_json(line) {
        TransportFrame::Single(message) => Incoming::Message(message),
        _ => mended(line).map_or(Incoming::Noise, Incoming::Message),
    }
}

/// A message whose envelope is nearly right: an answer of that kind would otherwise be waited for in vain.
fn mended(line: &str) -> Option<RawJsonRpcMessage> {
    let mut object: Map<String, Value> = serde_json::from_str(line).ok()?;
    object.insert("jsonrpc".into(), "2.0".into());
    if object.get("params").is_some_and(Value::is_null) {
        object.remove("params");
    }
    if object.get("error").is_some_and(Value::is_null) {
        object.remove("error");
    }
    if object.contains_key("method") {
        object.remove("result");
    } else if let Some(error) = object.get_mut("error") {
        if !(error["code"].is_i64() && error["message"].is_string()) {
            let text = match &*error {
                Value::String(text) => text.clone(),
                Value::Object(fields) => match fields.get("message") {
                    Some(Value::String(text)) => text.clone(),
                    _ => Value::Object(fields.clone()).to_string(),
                },
                other => other.to_string(),
            };
            *error = json!({ "code": -32_603, "message": text });
        }
        object.remove("result");
    }
    serde_json::from_value(Value::Object(object)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_response(line: &str) -> bool {
        matches!(parse(line), Incoming::Message(RawJsonRpcMessage::Response(_)))
    }

    #[test]
    fn what_is_not_a_json_rpc_object_is_noise() {
        for line in [
            "Welcome to the agent!",
            "{",
            "  \"id\": 1,",
            "{}",
            "17",
            "null",
            "[]",
            r#"[{"jsonrpc":"2.0","id":1,"result":null}]"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"level":"info","msg":"started"}"#,
            r#"{"jsonrpc":"2.0","id":{},"result":1}"#,
        ] {
            assert_eq!(parse(line), Incoming::Noise, "{line}");
        }
    }

    #[test]
    fn a_message_may_have_white_space_and_a_byte_order_mark_around_it() {
        assert!(is_response("\u{feff} {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null} \t"));
        assert_eq!(parse(" \t "), Incoming::Blank);
    }

    #[test]
    fn an_answer_with_a_nearly_right_envelope_is_an_answer() {
        for line in [
            r#"{"id":1,"result":{}}"#,
            r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":1,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"message":"no"}}"#,
        ] {
            assert!(is_response(line), "{line}");
        }
        assert!(matches!(
            parse(r#"{"method":"session/update","params":{}}"#),
            Incoming::Message(RawJsonRpcMessage::Notification(_))
        ));
    }
}
