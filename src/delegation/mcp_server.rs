use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ListToolsResult, PaginatedRequestParams, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

use super::served::Served;
use super::{DelegationTool, DelegationTools, Delegations};
use crate::mcp;
use crate::parent::Parent;

/// Serves [`DelegationTools`] over the Model Context Protocol, so that any MCP client can delegate. It acts for one
/// parent, the agent on the client's side.
///
/// A protocol has no way to wake a model, so what [`Delegations::take_notices`] has is added to the result of the next
/// call, whichever tool it is of. Tools whose provider is not registered are not listed. A request that the client
/// cancels ends its call; background children go on. They end with the server: [`close`](Self::close) waits for that,
/// and dropping its last clone has them disposed of in the background.
///
/// `examples/mcp_server.rs` serves a toolset over stdio.
#[derive(Debug, Clone)]
pub struct McpServer(Arc<Served>);

impl McpServer {
    /// Serves these tools for this parent.
    #[must_use]
    pub fn new(tools: DelegationTools, parent: &Parent) -> Self {
        Self(Arc::new(Served::new(tools, parent.clone())))
    }

    /// What the client's agent has delegated in the background.
    pub fn delegations(&self) -> &Delegations {
        &self.0.delegations
    }

    /// Stops all background children, takes no more, and returns when nothing of them is left.
    ///
    /// # Cancel safety
    ///
    /// As [`Delegations::close`].
    pub async fn close(&self) {
        self.0.delegations.close().await;
    }

    fn available(&self) -> impl Iterator<Item = &DelegationTool> {
        self.0.tools.tools().iter().filter(|tool| tool.is_available())
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        mcp::server(env!("CARGO_PKG_NAME"))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            self.available().map(|tool| mcp::tool(tool.definition())).collect(),
        ))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.tools.find(name).map(|tool| mcp::tool(tool.definition()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.0.tools.find(&request.name) else {
            let known: Vec<&str> = self.available().map(DelegationTool::name).collect();
            let name = super::arguments::quoted(&request.name);
            let known = known.join(", ");
            return Err(ErrorData::invalid_params(
                format!("there is no tool `{name}`; the tools are: {known}"),
                None,
            ));
        };
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let output = self.0.call(tool, arguments, context.ct.clone()).await;
        Ok(mcp::result(&output).into())
    }
}
