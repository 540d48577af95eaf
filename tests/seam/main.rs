//! The seam through the public API: registry, start, events, results, progress, ids, panics, errors.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod auto_traits;
mod by_name;
mod error_texts;
mod events;
mod ids;
mod panics;
mod progress;
mod registry;
mod result;
mod start;
mod structured;
mod support;
