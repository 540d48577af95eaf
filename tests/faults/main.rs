//! Things are broken on purpose, and nothing leaks and nothing is lost.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, and what they break")]

mod history;
mod hostile;
mod model;
mod panics;
mod secrets;
mod support;
