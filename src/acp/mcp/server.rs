use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock as McpBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::SERVER;
use super::offered::Offered;
use crate::agent::{ToolDefinition, ToolOutput};
use crate::content::ContentBlock;

/// One child's MCP server.
#[derive(Clone)]
pub(super) struct Server(pub(super) Arc<Offered>);

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(SERVER, env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.definitions().into_iter().map(tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let output = self.0.call(&request.name, arguments, context.ct).await;
        Ok(result(&output).into())
    }
}

fn tool(definition: ToolDefinition) -> Tool {
    let schema = match definition.input_schema {
        Value::Object(schema) => schema,
        _ => serde_json::Map::new(),
    };
    Tool::new(definition.name, definition.description, schema)
}

fn result(output: &ToolOutput) -> CallToolResult {
    let content = output.content.iter().map(block).collect();
    if output.is_error { CallToolResult::error(content) } else { CallToolResult::success(content) }
}

/// The protocols write content alike. What only we know of is told as text.
fn block(block: &ContentBlock) -> McpBlock {
    serde_json::to_value(block)
        .and_then(serde_json::from_value)
        .unwrap_or_else(|_| McpBlock::text(block.as_text().unwrap_or("[content that cannot be shown here]")))
}
