use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Tool, ToolContext, ToolDefinition, ToolOutput};

/// A tool that is a closure over typed arguments: the schema that the model sees is `A`'s.
///
/// Arguments that are not an `A` never reach the closure; the model is told which path is wrong.
///
/// ```
/// use subagent::agent::{ToolSet, typed_tool_fn};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Sum {
///     left: i64,
///     right: i64,
/// }
///
/// let sum = typed_tool_fn("sum", "Adds two numbers.", async |sum: Sum, _context| {
///     (sum.left + sum.right).to_string()
/// });
/// let tools = ToolSet::new().with(sum)?;
/// # Ok::<(), subagent::agent::ToolSetError>(())
/// ```
pub fn typed_tool_fn<A, F, Fut, R>(
    name: impl Into<String>,
    description: impl Into<String>,
    function: F,
) -> TypedToolFn<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send,
    R: Into<ToolOutput>,
{
    let schema = SchemaGenerator::default().into_root_schema_for::<A>().to_value();
    TypedToolFn {
        definition: ToolDefinition::new(name, description, schema),
        function,
        arguments: PhantomData,
    }
}

/// What [`typed_tool_fn`] returns.
#[derive(Clone)]
pub struct TypedToolFn<A, F> {
    definition: ToolDefinition,
    function: F,
    arguments: PhantomData<fn(A)>,
}

impl<A, F, Fut, R> Tool for TypedToolFn<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = R> + Send,
    R: Into<ToolOutput>,
{
    fn definition(&self) -> ToolDefinition {
        self.definition.clone()
    }

    async fn call(&self, arguments: Value, context: ToolContext) -> ToolOutput {
        match serde_path_to_error::deserialize(arguments) {
            Ok(arguments) => (self.function)(arguments, context).await.into(),
            Err(error) => ToolOutput::error(format!(
                "The arguments do not fit: at `{}`: {}. Call the tool again with arguments that fit its schema.",
                error.path(),
                error.inner()
            )),
        }
    }
}

impl<A, F> fmt::Debug for TypedToolFn<A, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedToolFn").field("definition", &self.definition).finish_non_exhaustive()
    }
}
