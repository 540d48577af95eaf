use std::fmt;
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use serde_json::Value;

use super::{Tool, ToolContext, ToolDefinition, ToolOutput};

/// The tools that a model may call, each under a name of its own, in the order in which they were added; cheap to
/// clone.
#[derive(Clone)]
pub struct ToolSet(Arc<[Entry]>);

impl ToolSet {
    /// No tool.
    #[must_use]
    pub fn new() -> Self {
        static NONE: OnceLock<ToolSet> = OnceLock::new();
        NONE.get_or_init(|| Self(Arc::new([]))).clone()
    }

    /// These tools and one more.
    ///
    /// # Errors
    ///
    /// When the tool's name is empty or taken, or its schema is not an object.
    pub fn with(&self, tool: impl Tool) -> Result<Self, ToolSetError> {
        let definition = tool.definition();
        if definition.name.is_empty() {
            return Err(ToolSetError::NoName);
        }
        if self.contains(&definition.name) {
            return Err(ToolSetError::DuplicateTool { name: definition.name });
        }
        if !definition.input_schema.is_object() {
            return Err(ToolSetError::Schema { name: definition.name });
        }
        let entry = Entry { definition: Arc::new(definition), tool: Arc::new(tool) };
        Ok(Self(self.0.iter().cloned().chain([entry]).collect()))
    }

    /// The tools' names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions().map(|definition| definition.name.as_str())
    }

    /// What the model is told of the tools, in order.
    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.0.iter().map(|entry| entry.definition.as_ref())
    }

    /// Whether there is a tool of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tools whose names `keep` accepts, in the same order.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|entry| keep(&entry.definition.name)).cloned().collect())
    }

    pub(in crate::agent) fn tool(&self, name: &str) -> Option<&Arc<dyn ErasedTool>> {
        self.0.iter().find(|entry| entry.definition.name == name).map(|entry| &entry.tool)
    }
}

impl Default for ToolSet {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// A tool cannot join a [`ToolSet`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolSetError {
    /// The tool has no name.
    #[error("a tool needs a name that is not empty")]
    NoName,
    /// The name is taken.
    #[error(
        "there is a tool named `{name}` already: give this one another name, or leave the other out with `only`"
    )]
    DuplicateTool {
        /// The name.
        name: String,
    },
    /// The schema is not one of an object.
    #[error("the input schema of the tool `{name}` is not a JSON object: an object schema is needed")]
    Schema {
        /// The tool's name.
        name: String,
    },
}

impl ToolSetError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoName => "NO_TOOL_NAME",
            Self::DuplicateTool { .. } => "DUPLICATE_TOOL",
            Self::Schema { .. } => "INVALID_TOOL_SCHEMA",
        }
    }
}

/// The twin of [`Tool`] that can be a trait object.
pub(in crate::agent) trait ErasedTool: Send + Sync {
    fn call_erased(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutput>;
}

impl<T: Tool> ErasedTool for T {
    fn call_erased(&self, arguments: Value, context: ToolContext) -> BoxFuture<'_, ToolOutput> {
        Box::pin(self.call(arguments, context))
    }
}

#[derive(Clone)]
struct Entry {
    definition: Arc<ToolDefinition>,
    tool: Arc<dyn ErasedTool>,
}
