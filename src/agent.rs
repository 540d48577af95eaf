//! The built-in agent: a session, a model, tools, and the loop that runs them.
//!
//! An [`Agent`] runs one turn at a time: it asks its [`Model`], calls the [tools](Tool) that the model asks for, and
//! goes on until the model is done or a limit is reached. All that happens is in its [`Session`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use subagent::ContentBlock;
//! use subagent::agent::{Agent, TurnOptions};
//! use subagent::testing::{ScriptedModel, ScriptedReply};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let model = ScriptedModel::new().reply(ScriptedReply::new().text("Hello!"));
//! let mut agent = Agent::builder(Arc::new(model)).system_prompt("You greet people.").build();
//! let outcome = agent.run_turn(vec![ContentBlock::text("Say hello")], TurnOptions::new()).await;
//! assert_eq!(outcome.output.to_text(), "Hello!");
//! # }
//! ```

mod activity;
mod agent_loop;
mod builder;
mod capture;
mod inbox;
mod ledger;
mod limits;
mod model;
mod outcome;
mod output_rule;
#[cfg(feature = "acp-mcp")]
mod outside;
mod session;
mod tool;
mod turn_options;

pub use crate::capture::OutputContract;
#[cfg(feature = "jsonschema")]
pub use crate::capture::UnusableSchema;
pub(crate) use activity::Activity;
pub use builder::{Agent, AgentBuilder};
pub use inbox::{Inbox, InboxClosed};
pub use ledger::UsageLedger;
pub use limits::Limits;
pub use model::{
    FinishReason, Message, Model, ModelError, ModelErrorSource, ModelEvent, ModelRequest, ModelStream,
    ResponseFormat, ToolChoice,
};
#[cfg(feature = "genai")]
pub use model::{GenaiModel, GenaiModelBuilder, GenaiSetupError};
pub use outcome::TurnOutcome;
pub use output_rule::{is_empty_message, output_of};
#[cfg(feature = "acp-mcp")]
pub(crate) use outside::OutsideAgent;
pub use session::{
    AppendError, AssistantMessage, LoadSessionError, MessageOrigin, Session, SessionEvent, SessionEventKind,
    SessionHeader, SessionPrefix, SessionSnapshot, SessionWriter, ToolCall, ToolResult, UserMessage,
};
pub use tool::{
    CallingAgent, Tool, ToolContext, ToolDefinition, ToolFn, ToolOutput, ToolSet, ToolSetError, tool_fn,
};
#[cfg(feature = "typed-output")]
pub use tool::{TypedToolFn, typed_tool_fn};
pub use turn_options::TurnOptions;
