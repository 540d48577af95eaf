use std::error::Error;

use super::contain;

/// An error with its causes, as one text: each after a colon.
///
/// How a foreign error prints itself, and what it names as its cause, is foreign code: a panic in it ends the text,
/// which then says so.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = String::new();
    let written = contain(|| {
        text.push_str(&error.to_string());
        let mut cause = error.source();
        while let Some(error) = cause {
            text.push_str(": ");
            text.push_str(&error.to_string());
            cause = error.source();
        }
    });
    if let Err(message) = written {
        text.push_str("an error that panics when it is printed: ");
        text.push_str(&message);
    }
    text
}
