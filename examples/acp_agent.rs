//! The built-in agent as a program of its own, which any client of the Agent Client Protocol can drive over stdio.
//!
//! `cargo run --features acp --example acp_agent`; with `--features genai` it takes the model that `SUBAGENT_MODEL`
//! names, at `SUBAGENT_BASE_URL` and with `SUBAGENT_API_KEY` if they are set.

mod common;

use std::error::Error;
use std::sync::Arc;

use subagent::agent::{Agent, Message, ModelRequest};
use subagent::testing::{ScriptedModel, ScriptedReply};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let model = common::real_model()?;
    common::acp_server::serve(move || {
        // Without a real model each session has a scripted one.
        let echo = |request: &ModelRequest| ScriptedReply::new().text(format!("You said: {}", last(request)));
        let scripted = || Arc::new(ScriptedModel::new().then_always_with(echo));
        let model = model.clone().unwrap_or_else(|| scripted());
        Agent::builder(model).system_prompt("You answer in one sentence.").build()
    })
    .await?;
    Ok(())
}

fn last(request: &ModelRequest) -> String {
    match request.messages().last() {
        Some(Message::User { content, .. }) => content.iter().filter_map(|block| block.as_text()).collect(),
        _ => String::new(),
    }
}
