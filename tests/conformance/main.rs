//! The conformance suite: on every provider and wrapper of the crate, on providers written by hand, and on broken
//! ones, each of which it has to name.

mod broken;
mod closures;
mod forwarding;
mod handmade;
mod in_process;
mod plain;
mod scripted;
mod suite;
mod wrapped;
