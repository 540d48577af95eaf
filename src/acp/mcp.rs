//! What a child is served over the Model Context Protocol: a tool that delivers the run's value, and tools of this
//! program. One endpoint for each child, on loopback, gone with it.

mod capture;
mod endpoint;
mod gate;
mod offered;
mod permission;
mod relay;
mod server;
mod token;
mod tunnel;

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::capture::Capture;
use self::endpoint::{Endpoint, McpAddress};
use self::offered::Offered;
use self::token::Token;
use super::environment::Environment;
use super::error::AcpStartError;
use super::wire::AgentInfo;
use crate::agent::{OutsideAgent, ToolSet};
use crate::capability::OutputSchema;
use crate::capture::OutputContract;
use crate::content::ContentBlock;
use crate::error::StartError;
use crate::request::StartRequest;
use crate::stop_reason::StopReason;
use crate::usage::Usage;

pub use relay::{McpRelay, run_mcp_relay};

pub(super) use capture::Judged;

/// The name of our server, as the child sees it.
const SERVER: &str = "subagent";

/// How a provider serves its children.
#[derive(Debug, Clone)]
pub(super) struct Serving {
    /// For agents that reach no server over HTTP.
    pub(super) relay: Option<McpRelay>,
    /// How often a value that does not fit goes back to the child.
    pub(super) retries: u32,
    /// Check values against whole schemas.
    pub(super) validate_schemas: bool,
    /// Tools of this program that children may call.
    pub(super) tools: ToolSet,
}

impl Default for Serving {
    fn default() -> Self {
        Self { relay: None, retries: 2, validate_schemas: false, tools: ToolSet::new() }
    }
}

/// What one child is served.
pub(super) struct Served {
    token: Token,
    relay: Option<McpRelay>,
    offered: Arc<Offered>,
    endpoint: tokio::sync::OnceCell<Endpoint>,
}

impl Served {
    /// What the request asks for; `None` where that is nothing. No port is open yet.
    pub(super) fn of(
        serving: &Serving,
        request: &mut StartRequest,
        structured: bool,
    ) -> Result<Option<Arc<Self>>, StartError> {
        let schema = if structured { request.take::<OutputSchema>() } else { None };
        if schema.is_none() && serving.tools.is_empty() {
            return Ok(None);
        }
        let capture = match schema {
            Some(schema) => {
                let check = request.output_check();
                let contract = OutputContract::of_request(&schema, check, serving.validate_schemas)?;
                Some(Capture::beside(&serving.tools, contract, serving.retries))
            }
            None => None,
        };
        let caller = (!serving.tools.is_empty()).then(|| OutsideAgent::new(request, serving.tools.clone()));
        let offered = Offered::new(capture, caller);
        Ok(Some(Arc::new(Self {
            token: Token::new(),
            relay: serving.relay.clone(),
            offered: Arc::new(offered),
            endpoint: tokio::sync::OnceCell::new(),
        })))
    }

    /// Opens the endpoint if it is not open; gives the servers that the agent is told of.
    pub(super) async fn servers(
        &self,
        agent: &AgentInfo,
        command: &str,
    ) -> Result<Vec<Value>, AcpStartError> {
        if !agent.mcp_http && self.relay.is_none() {
            return Err(AcpStartError::NoMcpTransport { command: command.to_owned() });
        }
        let endpoint = self
            .endpoint
            .get_or_try_init(|| Endpoint::open(Arc::clone(&self.offered), self.token.clone(), agent.mcp_http))
            .await
            .map_err(|source| AcpStartError::McpEndpoint { source })?;
        Ok(vec![match (endpoint.address(), &self.relay) {
            (McpAddress::Tunnel(address), Some(relay)) => relay.server(SERVER, address, &self.token),
            (McpAddress::Http(url), _) => json!({
                "type": "http",
                "name": SERVER,
                "url": url,
                "headers": [{ "name": "Authorization", "value": format!("Bearer {}", self.token.as_str()) }],
            }),
            (McpAddress::Tunnel(_), None) => {
                return Err(AcpStartError::NoMcpTransport { command: command.to_owned() });
            }
        }])
    }

    /// What nobody may be shown.
    pub(super) fn secret(&self) -> &str {
        self.token.as_str()
    }

    /// Keeps the child from asking a proxy for our endpoint.
    pub(super) fn adjust(environment: &mut Environment) {
        for name in ["NO_PROXY", "no_proxy"] {
            let set = environment.set.get(std::ffi::OsStr::new(name)).cloned();
            let mut exempt = set.or_else(|| std::env::var_os(name)).unwrap_or_default();
            if !exempt.is_empty() {
                exempt.push(",");
            }
            exempt.push("127.0.0.1");
            environment.set.insert(name.into(), exempt);
        }
    }

    /// Whether the child may do this without anybody being asked: call the tool that delivers its value.
    pub(super) fn permits(&self, request: &Value) -> bool {
        self.offered.capture().is_some_and(|capture| permission::is_for(SERVER, capture.tool(), request))
    }

    /// A turn begins. `cut` ends it. Gives what is added to the prompt.
    pub(super) fn begin_turn(&self, cut: CancellationToken) -> Option<ContentBlock> {
        self.offered.begin_turn(&cut);
        let capture = self.offered.capture()?;
        capture.begin(cut);
        Some(ContentBlock::text(capture.instructions(SERVER)))
    }

    /// The child was given more to do.
    pub(super) fn steered(&self) {
        if let Some(capture) = self.offered.capture() {
            capture.steered();
        }
    }

    /// What a turn's end comes to, `cancelled` or not.
    pub(super) fn judge(&self, stop: StopReason, diagnostic: Option<String>, cancelled: bool) -> Judged {
        let judged = match self.offered.capture() {
            Some(capture) => capture.judge(stop, diagnostic, cancelled),
            None => Judged::Settled { stop, diagnostic, structured: None },
        };
        if matches!(judged, Judged::Settled { .. }) {
            self.offered.end_turn();
        }
        judged
    }

    /// The turn has ended, and with it what its calls left at work in the background; it is told in `diagnostic`.
    pub(super) async fn end_turn(&self, was_cancelled: bool, diagnostic: &mut Option<String>) {
        if let Some(caller) = self.offered.caller() {
            caller.end_turn(was_cancelled, diagnostic).await;
        }
    }

    /// What the tools of this program used that the child called in this turn.
    pub(super) fn usage(&self) -> Usage {
        self.offered.caller().map(OutsideAgent::usage).unwrap_or_default()
    }

    /// Closes the endpoint and waits for what it does.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the endpoint closes with this.
    pub(super) async fn close(&self) {
        if let Some(endpoint) = self.endpoint.get() {
            endpoint.close().await;
        }
    }
}

/// Not the token.
impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("open", &self.endpoint.initialized()).finish_non_exhaustive()
    }
}
