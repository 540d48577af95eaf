//! A child that is a real process, without anyone else's software: this example's own binary, run again as an agent
//! that speaks the Agent Client Protocol.

use std::error::Error;
use std::sync::Arc;

use subagent::acp::Acp;
use subagent::agent::Agent;
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{Parent, Request, Subagents};

use crate::common::acp_server;

/// What the binary is told to be an agent.
const AS_AGENT: &str = "--as-agent";

/// Whether this process is to be the agent.
pub(crate) fn is_asked_for() -> bool {
    std::env::args_os().nth(1).is_some_and(|argument| argument == AS_AGENT)
}

/// Is the agent, until stdin ends.
pub(crate) async fn serve() -> Result<(), Box<dyn Error>> {
    let said = format!("I am process {}.", std::process::id());
    acp_server::serve(move || {
        let reply = ScriptedReply::new().text(said.clone());
        Agent::builder(Arc::new(ScriptedModel::new().then_always(reply))).build()
    })
    .await?;
    Ok(())
}

/// Runs the agent as a child: two turns in one session, and at the end nothing is left of the process.
pub(crate) async fn drive(subagents: &Subagents, parent: &Parent) -> Result<(), Box<dyn Error>> {
    let program = Acp::builder(std::env::current_exe()?).argument(AS_AGENT).build()?;
    let program = subagents.register("program", program)?;
    let run = program.start(Request::new("Who are you?").parent(parent).agent_type("program")).await?;
    let settled = run.settle().await;
    println!("result   program: {} (I am {})", settled.result()?.text(), std::process::id());
    let again = settled.resume("And now?").await?;
    println!("result   program: {} (a follow-up)", again.collect().await.into_result()?.text());
    Ok(())
}
