//! Connects an agent that reaches no server over HTTP with the tools it is served; see `subagent::acp::McpRelay`.

fn main() -> std::io::Result<()> {
    subagent::acp::run_mcp_relay()
}
