//! Children that are other programs, driven over the
//! [Agent Client Protocol](https://agentclientprotocol.com).

mod builder;
mod child;
mod connection;
mod environment;
mod error;
mod inbound;
mod launcher;
mod link;
#[cfg_attr(not(feature = "acp-mcp"), path = "acp/no_mcp.rs")]
mod mcp;
mod noise;
mod permission;
mod process;
mod provider;
mod redact;
mod run;
mod session;
mod settings;
mod steering;
mod transport;
mod turn;
mod turn_task;
mod updates;
mod wire;

pub use builder::AcpBuilder;
pub use environment::EnvPolicy;
pub use error::{
    AcpAgentError, AcpBuildError, AcpDiagnostics, AcpDisposeError, AcpStage, AcpStartError, AcpSteerError,
};
#[cfg(feature = "acp-mcp")]
pub use mcp::{McpRelay, run_mcp_relay};
pub use permission::{PermissionDecision, PermissionPolicy, PermissionRequest};
pub use provider::Acp;
pub use run::AcpRun;

#[cfg(test)]
mod tests;
