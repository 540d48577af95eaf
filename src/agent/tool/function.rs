use std::fmt;

use serde_json::Value;

use super::{Tool, ToolContext, ToolDefinition, ToolOutput};

/// A tool that is a closure. `input_schema` is the JSON schema of the arguments.
///
/// The closure's future may give anything that becomes a [`ToolOutput`]: text, content blocks, or a `Result` of
/// them, whose error is told to the model.
///
/// ```
/// use serde_json::json;
/// use subagent::agent::{ToolSet, tool_fn};
///
/// let read = tool_fn(
///     "read_file",
///     "Reads a text file.",
///     json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}),
///     async |arguments, _context| {
///         let path = arguments["path"].as_str().ok_or("`path` must be a string")?.to_owned();
///         std::fs::read_to_string(&path).map_err(|error| format!("cannot read {path}: {error}"))
///     },
/// );
/// let tools = ToolSet::new().with(read)?;
/// assert_eq!(tools.names().collect::<Vec<_>>(), ["read_file"]);
/// # Ok::<(), subagent::agent::ToolSetError>(())
/// ```
pub fn tool_fn<F, Fut, R>(
    name: impl Into<String>,
    description: impl Into<String>,
    input_schema: Value,
    function: F,
) -> ToolFn<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send,
    R: Into<ToolOutput>,
{
    ToolFn { definition: ToolDefinition::new(name, description, input_schema), function }
}

/// What [`tool_fn`] returns.
#[derive(Clone)]
pub struct ToolFn<F> {
    definition: ToolDefinition,
    function: F,
}

impl<F, Fut, R> Tool for ToolFn<F>
where
    F: Fn(Value, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send,
    R: Into<ToolOutput>,
{
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    async fn call(&self, arguments: Value, context: ToolContext) -> ToolOutput {
        (self.function)(arguments, context).await.into()
    }
}

impl<F> fmt::Debug for ToolFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolFn").field("definition", &self.definition).finish_non_exhaustive()
    }
}
