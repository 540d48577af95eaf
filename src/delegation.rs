//! The tools with which a model delegates: [`SubagentTool`] hands a task to a child and returns what it brought,
//! [`DelegationTools`] does so in the background too, and waits for, lists, messages, follows up and stops children.
//!
//! A tool is bound to one provider, by its type or by its name. Its model sees a description and a prompt, and nothing
//! of transports. What controls a toolset can have follows from the provider's types: `send_message` for runs that are
//! not [`Steerable`](crate::Steerable) does not compile.
//!
//! ```
//! use std::sync::Arc;
//!
//! use serde_json::json;
//! use subagent::agent::{Agent, ToolSet, TurnOptions};
//! use subagent::delegation::SubagentTool;
//! use subagent::testing::{ScriptedModel, ScriptedProvider, ScriptedReply};
//! use subagent::{ContentBlock, Subagents};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let subagents = Subagents::new();
//! let counter = subagents.register("counter", ScriptedProvider::replying("42 files"))?;
//! let tools = SubagentTool::builder(&counter)
//!     .child(|request| request.agent_type("counter").max_depth(2))
//!     .in_background()
//!     .send_message()
//!     .followup_agent()
//!     .build();
//!
//! let task = json!({"description": "count", "prompt": "Count the files", "run_in_background": true});
//! let model = ScriptedModel::new()
//!     .reply(ScriptedReply::new().tool_call("1", "subagent", task))
//!     .reply(ScriptedReply::new().text("It works on it."))
//!     .reply(ScriptedReply::new().text("There are 42."));
//! let mut agent = Agent::builder(Arc::new(model)).tools(tools.add_to(&ToolSet::new())?).build();
//! // The turn does not end before the child's outcome was delivered.
//! let outcome = agent.run_turn(vec!["How many files?".into()], TurnOptions::new()).await;
//! assert_eq!(outcome.output.to_text(), "There are 42.");
//! # Ok(()) }
//! ```
//!
//! # Who owns a background child
//!
//! The agent whose model started it. An outcome reaches that model once: as the result of a wait, or as a message
//! between two steps, whichever comes first. A turn whose model is done waits for the children that work, and goes on
//! with what they bring. A turn that is cancelled leaves them at work, and the next one begins with what they brought
//! by then. They end with their agent: a run that is cancelled or disposed of takes its whole tree along, as does an
//! agent that is dropped. To let one live longer, [detach](Delegations::detach) it to a named owner.
//!
//! # Other agent loops
//!
//! Each tool has a [`definition`](DelegationTool::definition), with a JSON schema, and a
//! [`call`](DelegationTool::call), which takes a [`CallContext`].

mod arguments;
mod builder;
mod child;
mod context;
mod control;
mod delegations;
mod keeper;
#[cfg(feature = "rmcp")]
mod mcp_server;
mod report;
#[cfg(feature = "rig")]
mod rig_tools;
#[cfg(any(feature = "rmcp", feature = "rig"))]
mod served;
mod shared;
mod source;
mod subagent_tool;
mod tools;
mod toolset;

pub use builder::{ByProviderName, SubagentToolBuilder};
pub use child::ChildState;
pub use context::CallContext;
pub use control::{MissingControl, TakesFollowUps, TakesMessages};
pub use delegations::{DelegatedChild, Delegations, DetachError, NewOwner};
#[cfg(feature = "rmcp")]
pub use mcp_server::McpServer;
#[cfg(feature = "rig")]
pub use rig_tools::RigTools;
pub use subagent_tool::SubagentTool;
pub use toolset::{DelegationTool, DelegationTools, DelegationToolsBuilder};

pub(crate) use delegations::{cancel_all, close, end_with_run, wait_for_notice};
pub(crate) use shared::Shared;
