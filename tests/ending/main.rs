//! How runs end: cancelled, steered to their end, disposed of, dropped at any point, shut down, resumed. No child
//! outlives its handle, and every published run has its pair of events.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod cancel;
mod collect;
mod custom;
mod dispose;
mod dropped;
mod resume;
mod runtimes;
mod shutdown;
mod steer;
mod support;
mod time_limit;
