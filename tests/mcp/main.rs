//! The toolset as an MCP server, driven by clients that are not ours.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod calls;
mod example;
mod process;
mod sdk;
