//! The tools with which a model delegates.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod arguments;
mod background;
mod control;
mod delivery;
mod foreground;
mod ownership;
mod parent;
mod support;
