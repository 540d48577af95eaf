use std::fmt;

use super::{Behaviour, Promise};

/// That a promise was kept, as far as it could be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Held {
    /// It was.
    Kept,
    /// The fixture declares that the provider cannot show what the promise speaks of.
    Skipped {
        /// What it cannot show.
        behaviour: Behaviour,
        /// Why, as the fixture says.
        reason: &'static str,
    },
}

/// A promise that a provider broke: which, what was seen, and what would be right.
///
/// Its `Debug` form is its message too, so that a test that returns it shows the author's words.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the promise `{name}` is broken ({door})\n  promised: {promised}\n  seen:     {seen}\n  right:    {right}",
    name = promise.name(),
    promised = promise.words()
)]
#[non_exhaustive]
pub struct Violation {
    /// The promise.
    pub promise: Promise,
    /// How the run was started: typed or by name.
    pub door: &'static str,
    /// What was seen.
    pub seen: String,
    /// What would be right.
    pub right: String,
}

impl fmt::Debug for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a check ends early.
pub(super) enum Stop {
    Broken { seen: String, right: String },
    Skip { behaviour: Behaviour, reason: &'static str },
}

pub(super) type Checked<T = ()> = Result<T, Stop>;

pub(super) fn broken(seen: impl Into<String>, right: impl Into<String>) -> Stop {
    Stop::Broken { seen: seen.into(), right: right.into() }
}

pub(super) fn ensure(holds: bool, seen: impl FnOnce() -> String, right: &str) -> Checked {
    if holds { Ok(()) } else { Err(broken(seen(), right)) }
}
