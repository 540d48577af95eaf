//! Children that are other programs, through the public provider, with a scripted agent that misbehaves on request.
//!
//! Each test has a scene of its own, so that they run side by side, and ends with the check that nothing of its
//! agents is left: no process, no zombie, no open pipe.

#![cfg(all(feature = "acp", target_os = "linux"))]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod cancel;
mod ending;
mod environment;
mod framing;
#[expect(dead_code, reason = "the tests of spans use all of it")]
#[path = "../spans/kept.rs"]
mod kept;
mod permissions;
mod resume;
mod scene;
mod spans;
mod start;
mod steering;
mod turns;
