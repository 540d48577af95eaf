//! The conformance suite: on every provider and wrapper of the crate, on providers written by hand, and on broken
//! ones, each of which it has to name.

#![expect(clippy::unwrap_used, clippy::panic, reason = "parts of tests")]
#![expect(clippy::needless_pass_by_value, reason = "what a child needs is handed over")]

mod broken;
mod closures;
mod forwarding;
mod handmade;
mod plain;
mod scripted;
mod suite;
mod wrappers;
