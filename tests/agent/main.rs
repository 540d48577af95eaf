//! The built-in agent, through its public API.

#![expect(clippy::unwrap_used, single_use_lifetimes, reason = "helpers of tests")]

mod cancel;
mod limits;
mod random;
mod session;
mod steering;
mod support;
mod turn;
