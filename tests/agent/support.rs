//! What the tests of the built-in agent share.

use std::sync::{Arc, Mutex};

use subagent::agent::{Agent, Message, ModelRequest, SessionEvent, SessionEventKind, ToolSet, TurnOptions};
use subagent::testing::ScriptedModel;
use subagent::{ContentBlock, Update};

/// An agent on this model, with these tools.
pub(crate) fn agent(model: &ScriptedModel, tools: ToolSet) -> Agent {
    Agent::builder(Arc::new(model.clone())).tools(tools).build()
}

pub(crate) fn prompt(text: &str) -> Vec<ContentBlock> {
    vec![ContentBlock::text(text)]
}

/// The events of an agent's log, each as one word, with what tells them apart.
pub(crate) fn words<'a>(events: impl IntoIterator<Item = &'a SessionEvent>) -> Vec<String> {
    events.into_iter().map(|event| word(&event.kind)).collect()
}

fn word(kind: &SessionEventKind) -> String {
    match kind {
        SessionEventKind::TurnStart => "turn".into(),
        SessionEventKind::TurnEnd { reason } => format!("end:{reason}"),
        SessionEventKind::StepStart => "step".into(),
        SessionEventKind::StepEnd { .. } => "step-end".into(),
        SessionEventKind::User(message) => format!("user:{}", text(&message.content)),
        SessionEventKind::Assistant(message) => format!("assistant:{}", text(&message.content)),
        SessionEventKind::ToolCall(call) => format!("call:{}:{}", call.id, call.name),
        SessionEventKind::ToolResult(result) => {
            format!(
                "{}:{}:{}",
                if result.is_error { "error" } else { "result" },
                result.id,
                text(&result.content)
            )
        }
        SessionEventKind::Metadata { key, .. } => format!("metadata:{key}"),
        _ => "unknown".into(),
    }
}

/// The conversation of a request, one line a message.
pub(crate) fn conversation(request: &ModelRequest) -> Vec<String> {
    request
        .messages()
        .iter()
        .map(|message| match message {
            Message::User { content, .. } => format!("user: {}", text(content)),
            Message::Assistant { content, tool_calls, .. } => {
                let calls: Vec<_> =
                    tool_calls.iter().map(|call| format!("[{} {}]", call.id, call.name)).collect();
                format!("assistant: {}{}", text(content), calls.join(""))
            }
            Message::ToolResults { results, .. } => {
                let results: Vec<_> = results
                    .iter()
                    .map(|result| format!("[{} {}]", result.id, text(&result.content)))
                    .collect();
                format!("results: {}", results.join(""))
            }
            _ => "unknown".into(),
        })
        .collect()
}

pub(crate) fn text(content: &[ContentBlock]) -> String {
    content.iter().filter_map(ContentBlock::as_text).collect()
}

/// Options that keep all updates, and where they are kept.
pub(crate) fn watched() -> (TurnOptions, Arc<Mutex<Vec<Update>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    (TurnOptions::new().on_update(move |update| sink.lock().unwrap().push(update)), seen)
}
