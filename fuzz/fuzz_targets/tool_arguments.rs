//! Whatever a model writes as the arguments of a tool call: the call gets them or the model is told, the turn ends, and
//! its log can be read.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use schemars::JsonSchema;
use serde::Deserialize;
use subagent::StopReason;
use subagent::agent::{Agent, ModelEvent, Session, ToolSet, TurnOptions, typed_tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(dead_code, reason = "it is there to be read from JSON")]
struct Order {
    #[serde(default)]
    name: Option<String>,
    count: u8,
    tags: Vec<Tag>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[expect(dead_code, reason = "it is there to be read from JSON")]
enum Tag {
    Text { text: String },
    Number { number: f64 },
}

fuzz_target!(|bytes: &[u8]| {
    let arguments = String::from_utf8_lossy(bytes).into_owned();
    let order = typed_tool_fn("order", "Orders.", async |order: Order, _context| format!("{order:?}"));
    let call = ModelEvent::ToolCall { id: "1".into(), name: "order".into(), arguments };
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().event(call))
        .then_always(ScriptedReply::new().text("done"));
    let tools = ToolSet::new().with(order).expect("a good tool");
    let mut agent = Agent::builder(Arc::new(model)).tools(tools).build();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let outcome = runtime.block_on(agent.run_turn(vec!["order".into()], TurnOptions::new()));
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    let mut lines = Vec::new();
    agent.session().write_json_lines(&mut lines).expect("the log can be written");
    Session::read_json_lines(lines.as_slice()).expect("the log can be read");
});
