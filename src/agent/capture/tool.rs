use serde_json::Value;

use crate::agent::tool::{Tool, ToolContext, ToolDefinition, ToolOutput, ToolSet};
use crate::capture::{OutputContract, TOOL, TOOL_DESCRIPTION};

/// The tool that a model without a response format delivers its value with. It is not one of the agent's tools: no
/// filter touches it, no child inherits it, and the loop itself answers its calls.
pub(in crate::agent) struct CaptureTool {
    pub(in crate::agent) name: String,
    /// The agent's tools and this one, last.
    pub(in crate::agent) with_tools: ToolSet,
}

impl CaptureTool {
    /// The capture tool under a name that none of the agent's tools has.
    pub(in crate::agent) fn beside(tools: &ToolSet, contract: &OutputContract) -> Self {
        let mut name = TOOL.to_owned();
        while tools.contains(&name) {
            name.push('_');
        }
        let definition = ToolDefinition::new(&name, TOOL_DESCRIPTION, contract.shown().as_ref().clone());
        // The name is free and the schema an object's, so that it fits in.
        let with_tools = tools.with(Shown(definition)).unwrap_or_else(|_| tools.clone());
        Self { name, with_tools }
    }
}

/// What the model sees of it.
struct Shown(ToolDefinition);

impl Tool for Shown {
    fn definition(&self) -> ToolDefinition {
        self.0.clone()
    }

    async fn call(&self, _arguments: Value, _context: ToolContext) -> ToolOutput {
        ToolOutput::error("The result is taken by the agent itself.")
    }
}
