//! The tools that the built-in agent's model can call.

mod context;
mod definition;
mod function;
mod output;
mod set;
#[cfg(feature = "typed-output")]
mod typed;

pub use context::{CallingAgent, ToolContext};
pub use definition::ToolDefinition;
pub use function::{ToolFn, tool_fn};
pub use output::ToolOutput;
pub use set::{ToolSet, ToolSetError};
#[cfg(feature = "typed-output")]
pub use typed::{TypedToolFn, typed_tool_fn};

pub(super) use set::ErasedTool;

use serde_json::Value;

/// Something that a model can call.
///
/// A call may run again after a crash: [`ToolContext::call_id`] is the same then. Calls of one response run at the
/// same time. A call that panics, or that does not end in time, becomes an error result for the model.
///
/// When the agent is cancelled, the context's token is; the call has a short grace to end, then its future is
/// dropped. What a call launches must not outlive that.
pub trait Tool: Send + Sync + 'static {
    /// What the model is told; asked once, when the tool joins a [`ToolSet`].
    fn definition(&self) -> ToolDefinition;

    /// Runs one call. The arguments are a JSON object.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the agent is cancelled or the call's deadline passes; it has to leave nothing
    /// running then.
    fn call(&self, arguments: Value, context: ToolContext) -> impl Future<Output = ToolOutput> + Send;
}
