//! What the tests of the tools share.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use subagent::agent::{Agent, SessionEventKind, ToolOutput, ToolSet};
use subagent::delegation::{CallContext, DelegationTools, Delegations, SubagentTool};
use subagent::testing::{Script, ScriptedLog, ScriptedModel, ScriptedProvider, ScriptedReply};
use subagent::{
    ContentBlock, Event, Outcome, Parent, ProviderHandle, RunId, StopReason, Subagents, Subscription,
};

pub(crate) fn parent() -> Parent {
    Parent::new("agent", "session")
}

pub(crate) fn context() -> CallContext {
    CallContext::new().parent(&parent())
}

/// A provider that plays these scripts, under the name `scripted`; it stays registered.
pub(crate) fn scripted(
    scripts: impl IntoIterator<Item = Script>,
) -> (Subagents, ProviderHandle<ScriptedProvider>, ScriptedLog) {
    let provider = ScriptedProvider::playing(scripts);
    let log = provider.log();
    let subagents = Subagents::new();
    let handle = subagents.register("scripted", provider).unwrap().leave_registered();
    (subagents, handle, log)
}

/// The whole toolset.
pub(crate) fn toolset(provider: &ProviderHandle<ScriptedProvider>) -> DelegationTools {
    SubagentTool::builder(provider).in_background().send_message().followup_agent().build()
}

pub(crate) fn task(prompt: &str) -> Value {
    json!({ "description": "a task", "prompt": prompt })
}

pub(crate) fn background_task(prompt: &str) -> Value {
    json!({ "description": "a task", "prompt": prompt, "run_in_background": true })
}

pub(crate) fn text(content: &[ContentBlock]) -> String {
    content.iter().filter_map(ContentBlock::as_text).collect()
}

pub(crate) fn said(output: &ToolOutput) -> String {
    text(&output.content)
}

/// The id that a tool's answer tells of: the last one.
pub(crate) fn id_in(text: &str) -> RunId {
    let words = text.split(|char: char| !(char.is_ascii_hexdigit() || char == '-'));
    words.filter_map(|word| word.parse().ok()).next_back().unwrap_or_else(|| panic!("no id in: {text}"))
}

/// What is between the two marked lines.
pub(crate) fn framed(text: &str) -> &str {
    let (_, rest) = text.split_once("with the mark ").unwrap_or_else(|| panic!("no frame in: {text}"));
    let mark = rest.split('.').next().unwrap();
    let (_, rest) = rest.split_once(&format!("\n[{mark} ")).unwrap();
    let (_, rest) = rest.split_once("]\n").unwrap();
    rest.split_once(&format!("\n[{mark} end]")).unwrap_or_else(|| panic!("no end in: {text}")).0
}

/// A toolset that a test calls as another agent loop would.
pub(crate) struct Loop {
    pub(crate) tools: DelegationTools,
    pub(crate) delegations: Delegations,
    pub(crate) parent: Parent,
}

impl Loop {
    pub(crate) fn new(tools: DelegationTools) -> Self {
        Self { tools, delegations: Delegations::new(), parent: parent() }
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let context = CallContext::new().parent(&self.parent).delegations(&self.delegations);
        self.tools.find(tool).unwrap_or_else(|| panic!("no tool {tool}")).call(arguments, context).await
    }

    pub(crate) async fn start(&self, prompt: &str) -> RunId {
        let started = self.call("subagent", background_task(prompt)).await;
        assert!(!started.is_error, "{started:?}");
        id_in(&said(&started))
    }

    /// What the model is told between two steps.
    pub(crate) fn notices(&self) -> Vec<String> {
        self.delegations.take_notices().iter().map(|notice| text(notice)).collect()
    }
}

pub(crate) fn ends_with(reason: StopReason) -> Script {
    Script::new().settle(Outcome::new(reason).with_output("half of it").with_diagnostic("the reason why"))
}

pub(crate) fn says(text: &str) -> ScriptedReply {
    ScriptedReply::new().text(text)
}

pub(crate) fn agent(model: &ScriptedModel, tools: &DelegationTools) -> Agent {
    Agent::builder(Arc::new(model.clone())).tools(tools.add_to(&ToolSet::new()).unwrap()).build()
}

/// What the log of an agent holds, an event a line.
pub(crate) fn log_of(agent: &Agent) -> Vec<String> {
    let snapshot = agent.session().snapshot();
    let line = |kind: &SessionEventKind| match kind {
        SessionEventKind::User(message) => format!("{:?}: {}", message.origin, text(&message.content)),
        SessionEventKind::Assistant(message) => format!("assistant: {}", message.content.to_text()),
        SessionEventKind::ToolCall(call) => format!("call {}: {}", call.id, call.name),
        SessionEventKind::ToolResult(result) => format!("result {}: {}", result.id, text(&result.content)),
        SessionEventKind::TurnEnd { reason } => format!("end: {reason}"),
        other => format!("{other:?}"),
    };
    snapshot.events().map(|event| line(&event.kind)).collect()
}

/// How often a text is anywhere in the log.
pub(crate) fn times(log: &[String], what: &str) -> usize {
    log.iter().map(|line| line.matches(what).count()).sum()
}

pub(crate) fn recorded(subagents: &Subagents) -> (Arc<Mutex<Vec<Event>>>, Subscription) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&events);
    let subscription = subagents.subscribe(move |event| sink.lock().unwrap().push(event.clone()));
    (events, subscription)
}
