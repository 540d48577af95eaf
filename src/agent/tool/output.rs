use std::fmt::Display;

use crate::content::ContentBlock;

/// What a tool call gives back to the model.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// What the model sees.
    pub content: Vec<ContentBlock>,
    /// Whether the call failed.
    pub is_error: bool,
}

impl ToolOutput {
    /// The output of a call that did what it should.
    #[must_use]
    pub fn new(content: Vec<ContentBlock>) -> Self {
        Self { content, is_error: false }
    }

    /// Text from a call that did what it should.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![ContentBlock::text(text)])
    }

    /// The output of a call that failed: say what was wrong and what would be right.
    pub fn error(text: impl Into<String>) -> Self {
        Self { content: vec![ContentBlock::text(text)], is_error: true }
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Vec<ContentBlock>> for ToolOutput {
    fn from(content: Vec<ContentBlock>) -> Self {
        Self::new(content)
    }
}

/// An `Err` is an error output with the error's text.
impl<T: Into<Self>, E: Display> From<Result<T, E>> for ToolOutput {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(output) => output.into(),
            Err(error) => Self::error(error.to_string()),
        }
    }
}
