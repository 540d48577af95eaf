//! Whatever is dropped, wherever, under whatever load: no task, child, process or open file is left.
//!
//! These tests count what the whole program has, so they run one at a time.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod census;
mod dropped;
mod kinds;
mod load;
