//! Children that are other programs, driven over the
//! [Agent Client Protocol](https://agentclientprotocol.com).

#![cfg_attr(not(test), expect(dead_code, reason = "the provider that drives it comes next"))]

mod connection;
mod environment;
mod error;
mod inbound;
mod link;
mod noise;
mod permission;
mod process;
mod redact;
mod session;
mod settings;
mod transport;
mod turn;
mod updates;
mod wire;

pub use environment::EnvPolicy;
pub use error::{AcpAgentError, AcpDiagnostics, AcpDisposeError, AcpStage, AcpStartError};
pub use permission::{PermissionDecision, PermissionPolicy, PermissionRequest};

#[cfg(test)]
mod tests;
