//! What the quickstart's reader runs on: its model and its tool.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use subagent::agent::{Message, Model, ModelRequest, Tool, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};

use crate::common;

/// The model that `SUBAGENT_MODEL` names, or else one that is scripted, so that no key is needed.
pub(crate) fn reading_model(path: &str) -> Result<Arc<dyn Model>, Box<dyn Error>> {
    let scripted = ScriptedModel::new()
        .reply(ScriptedReply::new().text("Let me look.").tool_call("1", "inspect", json!({ "path": path })))
        .reply_with(|request| {
            ScriptedReply::new().text(format!("I read it: {}", last_result(request))).usage(212, 24)
        });
    Ok(common::real_model()?.unwrap_or_else(|| Arc::new(scripted)))
}

/// A tool that is real: it reads a file.
pub(crate) fn inspect() -> impl Tool {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    tool_fn("inspect", "Reads a text file.", schema, async |arguments, _| {
        // Long enough to be seen.
        tokio::time::sleep(Duration::from_millis(600)).await;
        let path = arguments["path"].as_str().ok_or("`path` must be a string")?;
        let text = std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
        let first = text.lines().next().unwrap_or_default();
        Ok::<_, String>(format!("{} lines, the first is {first:?}", text.lines().count()))
    })
}

fn last_result(request: &ModelRequest) -> String {
    match request.messages().last() {
        Some(Message::ToolResults { results, .. }) => {
            results.iter().flat_map(|result| &result.content).filter_map(|block| block.as_text()).collect()
        }
        _ => "nothing".into(),
    }
}
