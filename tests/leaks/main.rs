//! Whatever is dropped, wherever, under whatever load: no task, child, process or open file is left.
//!
//! These tests count what the whole program has, so they run one at a time.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, and what they break")]

mod census;
mod dropped;
mod kinds;
mod load;
