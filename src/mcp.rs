//! What tools and their results are in the Model Context Protocol.

use rmcp::model::{
    CallToolResult, ContentBlock as McpBlock, Implementation, ServerCapabilities, ServerConfig, Tool,
};
use serde_json::{Map, Value};

use crate::agent::{ToolDefinition, ToolOutput};
use crate::content::ContentBlock;

/// A server of tools and nothing else, by this name.
pub(crate) fn server(name: &str) -> ServerConfig {
    ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
        .with_server_info(Implementation::new(name, env!("CARGO_PKG_VERSION")))
}

pub(crate) fn tool(definition: ToolDefinition) -> Tool {
    let schema = match definition.input_schema {
        Value::Object(schema) => schema,
        // Not reached: the schemas of tools are objects.
        _ => Map::new(),
    };
    Tool::new(definition.name, definition.description, schema)
}

pub(crate) fn result(output: &ToolOutput) -> CallToolResult {
    let content = output.content.iter().map(block).collect();
    if output.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

/// The block in MCP's form, which is the same but for blocks that a provider defines.
fn block(block: &ContentBlock) -> McpBlock {
    let kind = block.kind();
    let left_out = || McpBlock::text(format!("[left out: {kind} content, which MCP does not carry]"));
    match block {
        ContentBlock::Text(text) => McpBlock::text(&*text.text),
        ContentBlock::Provider(_) => left_out(),
        block => serde_json::to_value(block).and_then(serde_json::from_value).unwrap_or_else(|_| left_out()),
    }
}
