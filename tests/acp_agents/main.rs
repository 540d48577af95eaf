//! Children that are agents written by others, offline against a scripted model, through the public provider.
//!
//! `tests/acp-agents/agent install ts-example codex claude` installs them; where they are missing the tests say that
//! they were skipped. Each test ends with the check that nothing of its agents is left: no process, no zombie, no
//! open pipe.

#![cfg(all(feature = "acp", target_os = "linux"))]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

mod agents;
mod cancel;
mod permissions;
mod resume;
#[expect(dead_code, reason = "the tests with a scripted agent use all of it")]
#[path = "../acp/scene.rs"]
mod scene;
mod turns;
