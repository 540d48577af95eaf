//! The conformance suite: on every provider and wrapper of the crate, on providers written by hand, and on broken
//! ones, each of which it has to name.

#![expect(clippy::unwrap_used, clippy::panic, reason = "parts of tests")]

mod broken;
mod forwarding;
mod handmade;
mod plain;
mod scripted;
mod suite;
