//! What the tests of `Spawn` share.

use std::error::Error;
use std::sync::{Arc, Mutex};

use serde_json::json;
use subagent::agent::{Message, ModelEvent, ModelRequest, SessionEventKind, Tool, ToolSet, tool_fn};
use subagent::testing::ScriptedReply;
use subagent::{ContentBlock, Event, Parent, ProviderHandle, Request, Spawn, Subagents, Subscription};

pub(crate) fn says(text: &str) -> ScriptedReply {
    ScriptedReply::new().text(text)
}

/// Calls a tool, whether or not the child has it.
pub(crate) fn calls(tool: &str) -> ScriptedReply {
    ScriptedReply::new().event(ModelEvent::tool_call("", tool, &json!({})))
}

pub(crate) fn parent() -> Parent {
    Parent::new("agent", "session")
}

/// `Spawn` under the name `spawn`; it stays registered.
pub(crate) fn registered(spawn: Spawn) -> (Subagents, ProviderHandle<Spawn>) {
    let subagents = Subagents::new();
    let handle = subagents.register("spawn", spawn).unwrap().leave_registered();
    (subagents, handle)
}

/// Tools of these names that say their own name.
pub(crate) fn tools(names: &[&'static str]) -> ToolSet {
    names.iter().fold(ToolSet::new(), |tools, name| tools.with(echo(name)).unwrap())
}

fn echo(name: &'static str) -> impl Tool {
    tool_fn(name, "Says its name.", json!({"type": "object"}), move |_, _| async move { name })
}

/// A tool that hands `work` to a child and returns what the child said.
pub(crate) fn delegate(name: &'static str, spawn: &ProviderHandle<Spawn>) -> impl Tool + use<> {
    let spawn = spawn.clone();
    tool_fn(name, "Delegates.", json!({"type": "object"}), move |_, context| {
        let request = Request::new("work").parent(&Parent::from(&context));
        let start = spawn.start(request);
        async move {
            let result = start.await.map_err(|error| chain(&error))?.collect().await.into_result();
            let result = result.map_err(|fault| fault.to_string())?;
            if result.is_completed() {
                Ok(result.text().into_owned())
            } else {
                Err(format!("the child ended with {}", result.stop_reason()))
            }
        }
    })
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

pub(crate) fn text(content: &[ContentBlock]) -> String {
    content.iter().filter_map(ContentBlock::as_text).collect()
}

/// The conversation of a request, one line a message.
pub(crate) fn conversation(request: &ModelRequest) -> Vec<String> {
    request
        .messages()
        .iter()
        .map(|message| match message {
            Message::User { content, .. } => format!("user: {}", text(content)),
            Message::Assistant { content, .. } => format!("assistant: {}", text(content)),
            Message::ToolResults { results, .. } => {
                format!("results: {}", results.iter().map(|result| text(&result.content)).collect::<String>())
            }
            _ => "unknown".into(),
        })
        .collect()
}

/// The tools that a request shows to the model.
pub(crate) fn shown(request: &ModelRequest) -> Vec<String> {
    request.tools.names().map(Into::into).collect()
}

/// Collects every event.
pub(crate) fn recorded(subagents: &Subagents) -> (Arc<Mutex<Vec<Event>>>, Subscription) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let subscription = subagents.subscribe(move |event| sink.lock().unwrap().push(event.clone()));
    (events, subscription)
}

/// How many of the events are prompts.
pub(crate) fn prompts(session: &subagent::agent::Session) -> usize {
    session.snapshot().events().filter(|event| matches!(event.kind, SessionEventKind::User(_))).count()
}
