//! The wrappers, through the public API.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod fallback;
mod forwarding;
mod hooks;
mod mapped;
mod races;
mod retry;
mod stage;
mod validated;
