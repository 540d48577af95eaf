//! Which of an agent's messages is its output: the one implementation.

use super::session::{SessionEvent, SessionEventKind};
use crate::content::{ContentBlock, Output};

/// The last assistant message among `events` that is not empty, else nothing. A message that was cut off counts: the
/// text streamed so far is in the log.
///
/// Hand it the agent's own events only, or a silent agent seems to say what it inherited.
#[expect(single_use_lifetimes, reason = "the elided form is not stable in this place")]
pub fn output_of<'a>(events: impl IntoIterator<Item = &'a SessionEvent>) -> Output {
    let said = events.into_iter().filter_map(|event| match &event.kind {
        SessionEventKind::Assistant(message) if !is_empty_message(&message.content) => Some(&message.content),
        _ => None,
    });
    said.last().cloned().unwrap_or_default()
}

/// Whether a message says nothing: it has no block but text, and no text but white space.
#[must_use]
pub fn is_empty_message(content: &[ContentBlock]) -> bool {
    content.iter().all(|block| block.as_text().is_some_and(|text| text.trim().is_empty()))
}
