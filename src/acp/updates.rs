use std::collections::HashMap;

use serde_json::{Map, Value};

use super::wire::text_at;
use crate::content::ContentBlock;
use crate::update::Update;

/// Turns the `session/update`s of one turn into the seam's updates.
#[derive(Debug, Default)]
pub(super) struct UpdateReader {
    calls: HashMap<String, Call>,
    message: Option<String>,
}

/// A tool call of the agent. Agents may use an id again, so that the run's id may differ.
#[derive(Debug)]
struct Call {
    uses: usize,
    open: bool,
}

impl UpdateReader {
    /// What an update says, in order.
    pub(super) fn read(&mut self, update: Value) -> Vec<Update> {
        let Value::Object(mut fields) = update else { return Vec::new() };
        let Some(Value::String(kind)) = fields.remove("sessionUpdate") else { return Vec::new() };
        match kind.as_str() {
            "agent_message_chunk" => self.message_chunk(fields),
            "agent_thought_chunk" => match fields.get("content").and_then(|content| content["text"].as_str())
            {
                Some(text) => vec![Update::thought(text)],
                None => Vec::new(),
            },
            // What we said ourselves.
            "user_message_chunk" => Vec::new(),
            "tool_call" => self.tool_call(fields),
            "tool_call_update" => self.tool_call_update(fields),
            _ => vec![Update::Other { kind, data: Value::Object(fields) }],
        }
    }

    fn message_chunk(&mut self, mut fields: Map<String, Value>) -> Vec<Update> {
        let mut updates = Vec::new();
        if let Some(Value::String(message)) = fields.remove("messageId")
            && self.message.replace(message.clone()).is_some_and(|before| before != message)
        {
            updates.push(Update::MessageEnd);
        }
        let content = fields.remove("content").unwrap_or_default();
        match content["text"].as_str() {
            Some("") if content["type"] == "text" => {}
            Some(text) if content["type"] == "text" => updates.push(Update::text(text)),
            _ => updates.push(Update::Other { kind: "agent_content".to_owned(), data: content }),
        }
        updates
    }

    fn tool_call(&mut self, fields: Map<String, Value>) -> Vec<Update> {
        let fields = Value::Object(fields);
        let Some(id) = text_at(&fields, "toolCallId") else { return Vec::new() };
        if self.calls.get(&id).is_some_and(|call| call.open) {
            return self.progress(&id, fields);
        }
        let mut updates = vec![self.announce(&id, &fields)];
        updates.extend(self.result(&id, &fields));
        updates
    }

    fn tool_call_update(&mut self, fields: Map<String, Value>) -> Vec<Update> {
        let fields = Value::Object(fields);
        let Some(id) = text_at(&fields, "toolCallId") else { return Vec::new() };
        let mut updates = Vec::new();
        if !self.calls.contains_key(&id) {
            updates.push(self.announce(&id, &fields));
        }
        updates.extend(self.progress(&id, fields));
        updates
    }

    fn announce(&mut self, id: &str, fields: &Value) -> Update {
        let call = self.calls.entry(id.to_owned()).or_insert(Call { uses: 0, open: false });
        call.uses += 1;
        call.open = true;
        let name = text_at(fields, "title").or_else(|| text_at(fields, "kind")).unwrap_or_default();
        Update::tool_call(run_id(id, call), name, fields["rawInput"].clone())
    }

    fn progress(&mut self, id: &str, fields: Value) -> Vec<Update> {
        if let Some(result) = self.result(id, &fields) {
            return vec![result];
        }
        vec![Update::Other { kind: "tool_call_update".to_owned(), data: fields }]
    }

    /// The result, if this ends a call that is open.
    fn result(&mut self, id: &str, fields: &Value) -> Option<Update> {
        let is_error = match fields["status"].as_str()? {
            "completed" => false,
            "failed" => true,
            _ => return None,
        };
        let call = self.calls.get_mut(id).filter(|call| call.open)?;
        call.open = false;
        Some(Update::tool_result(run_id(id, call), result_content(fields), is_error))
    }
}

/// The agent's id, made unique within the run.
fn run_id(id: &str, call: &Call) -> String {
    if call.uses == 1 { id.to_owned() } else { format!("{id}#{}", call.uses) }
}

fn result_content(fields: &Value) -> Vec<ContentBlock> {
    let content: Vec<_> =
        fields["content"].as_array().into_iter().flatten().filter_map(tool_content).collect();
    match &fields["rawOutput"] {
        Value::Null => content,
        _ if !content.is_empty() => content,
        Value::String(text) => vec![ContentBlock::text(text)],
        output => vec![ContentBlock::text(output.to_string())],
    }
}

/// Content of a tool call: a block, or one of the protocol's own kinds (a diff, a terminal).
fn tool_content(item: &Value) -> Option<ContentBlock> {
    match item["type"].as_str()? {
        "content" => serde_json::from_value(item["content"].clone()).ok(),
        kind => {
            let mut fields = item.as_object()?.clone();
            fields.insert("type".into(), format!("acp/{kind}").into());
            let block: Result<ContentBlock, _> = serde_json::from_value(Value::Object(fields));
            block.ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(reader: &mut UpdateReader, update: Value) -> Vec<Update> {
        reader.read(update)
    }

    fn chunk(text: &str, message: Option<&str>) -> Value {
        json!({
            "sessionUpdate": "agent_message_chunk",
            "content": { "type": "text", "text": text },
            "messageId": message,
        })
    }

    #[test]
    fn text_is_text_thoughts_are_thoughts_and_our_own_words_are_nothing() {
        let reader = &mut UpdateReader::default();
        assert_eq!(read(reader, chunk("hi", None)), [Update::text("hi")]);
        let thought =
            json!({ "sessionUpdate": "agent_thought_chunk", "content": { "type": "text", "text": "hm" } });
        assert_eq!(read(reader, thought), [Update::thought("hm")]);
        let ours =
            json!({ "sessionUpdate": "user_message_chunk", "content": { "type": "text", "text": "do" } });
        assert_eq!(read(reader, ours), []);
    }

    #[test]
    fn an_image_is_no_text() {
        let image = json!({
            "sessionUpdate": "agent_message_chunk",
            "content": { "type": "image", "data": "AA==", "mimeType": "image/png", "text": "not text" },
        });
        assert!(matches!(&read(&mut UpdateReader::default(), image)[..], [Update::Other { .. }]));
    }

    #[test]
    fn another_message_id_ends_the_message_before() {
        let reader = &mut UpdateReader::default();
        assert_eq!(read(reader, chunk("a", Some("1"))), [Update::text("a")]);
        assert_eq!(read(reader, chunk("b", Some("1"))), [Update::text("b")]);
        assert_eq!(read(reader, chunk("c", Some("2"))), [Update::MessageEnd, Update::text("c")]);
    }

    #[test]
    fn a_tool_call_is_announced_once_and_ends_once() {
        let reader = &mut UpdateReader::default();
        let call =
            json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "rawInput": { "a": 1 } });
        assert_eq!(read(reader, call), [Update::tool_call("t", "ls", json!({ "a": 1 }))]);
        let running =
            json!({ "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress" });
        assert!(matches!(&read(reader, running)[..], [Update::Other { .. }]));
        let done = json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": "t",
            "status": "completed",
            "content": [
                { "type": "content", "content": { "type": "text", "text": "out" } },
                { "type": "diff", "path": "/x", "newText": "n" },
            ],
        });
        let updates = read(reader, done.clone());
        let [Update::ToolResult { id, content, is_error: false }] = &updates[..] else {
            panic!("{updates:?}");
        };
        assert_eq!((id.as_str(), content.len()), ("t", 2));
        assert_eq!(content[0], ContentBlock::text("out"));
        assert!(matches!(&read(reader, done)[..], [Update::Other { .. }]));
    }

    #[test]
    fn a_call_that_was_never_announced_and_an_id_used_again_are_calls_of_their_own() {
        let reader = &mut UpdateReader::default();
        let failed = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "failed", "rawOutput": "no",
        });
        assert_eq!(
            read(reader, failed),
            [
                Update::tool_call("t", "", Value::Null),
                Update::tool_result("t", vec![ContentBlock::text("no")], true)
            ]
        );
        let again =
            json!({ "sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "status": "completed" });
        assert_eq!(
            read(reader, again),
            [Update::tool_call("t#2", "ls", Value::Null), Update::tool_result("t#2", vec![], false)]
        );
    }

    #[test]
    fn a_kind_that_is_not_known_is_passed_on_as_it_is() {
        let reader = &mut UpdateReader::default();
        let plan = json!({ "sessionUpdate": "plan", "entries": [] });
        assert_eq!(
            read(reader, plan),
            [Update::Other { kind: "plan".into(), data: json!({ "entries": [] }) }]
        );
        for broken in
            [json!(null), json!({}), json!({ "sessionUpdate": 3 }), json!({ "sessionUpdate": "tool_call" })]
        {
            assert_eq!(read(reader, broken), []);
        }
    }
}
