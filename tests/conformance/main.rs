//! The conformance suite: on every provider and wrapper of the crate, on providers written by hand, and on broken
//! ones, each of which it has to name.

#![expect(clippy::unwrap_used, clippy::panic, reason = "the providers here are test code outside of tests")]

mod broken;
mod closures;
mod forwarding;
mod handmade;
#[cfg(feature = "typed-output")]
mod in_process;
mod plain;
mod scripted;
mod suite;
mod wrapped;
