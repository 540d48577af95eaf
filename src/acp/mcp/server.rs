use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::SERVER;
use super::offered::Offered;
use crate::mcp;

/// One child's MCP server.
#[derive(Clone)]
pub(super) struct Server(pub(super) Arc<Offered>);

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        mcp::server(SERVER)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.0.definitions().into_iter().map(mcp::tool).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let output = self.0.call(&request.name, arguments, context.ct).await;
        Ok(mcp::result(&output).into())
    }
}
