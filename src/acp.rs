//! Children that are other programs, driven over the
//! [Agent Client Protocol](https://agentclientprotocol.com).
//!
//! An [`Acp`] provider runs each child as a process of its own:
//!
//! - **Started clean.** It gets no credentials of this process unless an [`EnvPolicy`] passes them, works in the
//!   directory that the request's parent or the provider names, and has as long as
//!   [`start_limit`](AcpBuilder::start_limit) says to open its session.
//! - **Driven safely.** What it asks for is answered by a [`PermissionPolicy`], which refuses by default. What it
//!   writes is bounded, and what is not the protocol's is skipped. A turn can have an
//!   [`idle_limit`](AcpBuilder::idle_limit) and a [`turn_limit`](AcpBuilder::turn_limit). What was cancelled is
//!   [`Aborted`](crate::StopReason::Aborted), whatever the agent answers.
//! - **Gone completely.** A disposal closes the session where the agent offers that, ends stdin, sends SIGTERM and
//!   then SIGKILL to the process group, each after a grace of its own, and returns when nothing of the group is left.
//!   A handle that is dropped, a panic, and the death of this process end the group too.
//!
//! An error of a start is an [`AcpStartError`] inside [`StartError::Failed`](crate::StartError::Failed); it names the
//! command and quotes the last lines of the agent's stderr, with the values of credentials hidden.
//!
//! # Platforms
//!
//! Linux is tested. On macOS and other Unixes the process group is all that is ended: what left it is not found there.
//! Windows has no process groups: only the program itself is ended. Both are untried.

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
