//! What a closure may return.

use std::fmt::Display;

use crate::content::{ContentBlock, Output};
use crate::result::Outcome;

/// How much of an error's text is shown, in bytes.
const SHOWN: usize = 2_000;

/// Finished, with the text reported so far.
impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::completed(Output::none())
    }
}

impl From<&str> for Outcome {
    fn from(text: &str) -> Self {
        Self::completed(text)
    }
}

impl From<String> for Outcome {
    fn from(text: String) -> Self {
        Self::completed(text)
    }
}

impl From<ContentBlock> for Outcome {
    fn from(block: ContentBlock) -> Self {
        Self::completed(block)
    }
}

impl From<Vec<ContentBlock>> for Outcome {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self::completed(blocks)
    }
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self::completed(output)
    }
}

/// An error ends the run with [`StopReason::Error`](crate::StopReason::Error). Its own text, without its sources, is
/// the diagnostic, which anyone may see; control characters are left out, and a long text is cut.
impl<T: Into<Self>, E: Display> From<Result<T, E>> for Outcome {
    fn from(result: Result<T, E>) -> Self {
        match result {
            Ok(answer) => answer.into(),
            Err(error) => Self::error(shown(&error.to_string())),
        }
    }
}

fn shown(text: &str) -> String {
    let text = text.trim();
    let kept = &text[..text.floor_char_boundary(SHOWN)];
    let mut shown: String = kept.chars().filter(|c| !c.is_control() || *c == '\n').collect();
    if kept.len() < text.len() {
        shown.push('…');
    }
    if shown.is_empty() { "the child failed".to_owned() } else { shown }
}
