//! Asks any program that speaks the Agent Client Protocol, and takes its answer as a Rust value.
//!
//! `cargo run --features acp-mcp --example acp_typed -- COMMAND [ARGUMENT]…`, for example `codex-acp` or
//! `npx @agentclientprotocol/claude-agent-acp`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use schemars::JsonSchema;
use serde::Deserialize;
use subagent::acp::{Acp, EnvPolicy, McpRelay, run_mcp_relay};
use subagent::{Request, Subagents};

/// The argument with which agents start this program again that take no MCP server over HTTP.
const RELAY: &str = "--mcp-relay";

/// What a project is.
#[derive(Debug, Deserialize, JsonSchema)]
struct Project {
    /// Its name.
    name: String,
    /// The programming language that most of it is written in.
    language: String,
    /// The commands that build and test it.
    commands: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().ok_or("name a program that speaks the Agent Client Protocol")?;
    if program == RELAY {
        return Ok(run_mcp_relay()?);
    }
    let agent = Acp::builder(program)
        .arguments(arguments)
        // An agent that is yours may have your credentials.
        .environment(EnvPolicy::inherit_all())
        .working_dir(std::env::current_dir()?)
        .relay(McpRelay::this_program(RELAY)?)
        .structured()
        .build()?;
    let subagents = Subagents::new();
    let agent = subagents.register("agent", agent)?;

    let request = Request::new("What is the project in this directory?").output::<Project>();
    let result = agent.start(request).await?.collect().await.into_result()?;
    let project = result.structured()?;
    println!("{} is written in {}.", project.name, project.language);
    project.commands.iter().for_each(|command| println!("  {command}"));
    Ok(())
}
