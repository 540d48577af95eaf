//! An MCP server over stdio: any MCP client gets the tools to delegate to a child that counts words.
//!
//! `cargo run --features rmcp --example mcp_server` is the command for a client's configuration. This child is an async
//! closure and calls no model; with `subagent::Spawn`, or a provider of your own, it is an agent.

use rmcp::ServiceExt;
use subagent::delegation::{McpServer, SubagentTool};
use subagent::{ChildContext, Inbox, Outcome, Parent, Subagents, steerable_provider_fn};

/// Counts the words of its prompt; `wait` and `fail` at its beginning make it slow, or fail.
async fn count_words(child: ChildContext, mut inbox: Inbox) -> Outcome {
    let prompt = child.request.prompt()[0].as_text().unwrap_or_default().to_owned();
    if prompt.starts_with("fail") {
        return Outcome::error("the word counter is out of order");
    }
    let mut words = prompt.split_whitespace().count();
    if prompt.starts_with("wait") {
        // It counts the words of one message too.
        if let Some(message) = inbox.recv().await {
            let text = message.iter().filter_map(|block| block.as_text());
            words += text.flat_map(str::split_whitespace).count();
        }
    }
    Outcome::completed(format!("{words} words"))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let subagents = Subagents::new();
    let counter = subagents.register("counter", steerable_provider_fn(count_words))?;
    let tools = SubagentTool::builder(&counter)
        .name("count_words")
        .description("Has the words of a text counted by a subagent.")
        .in_background()
        .send_message()
        .build();

    // The agent on the other side of the protocol, for which this server acts.
    let parent = Parent::new("mcp-client", "mcp-session");
    let server = McpServer::new(tools, &parent);
    let running = server.clone().serve(rmcp::transport::stdio()).await?;
    running.waiting().await?;

    server.close().await;
    subagents.shutdown().await;
    Ok(())
}
