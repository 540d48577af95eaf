//! Typed answers from children that are other programs: from agents written by others, offline against a scripted
//! model, and from a scripted agent that misbehaves on request.

#![cfg(all(feature = "acp-mcp", feature = "typed-output", target_os = "linux"))]
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests")]

#[expect(dead_code, reason = "the tests of those agents use all of it")]
#[path = "../acp_agents/agents.rs"]
mod agents;
mod answers;
mod delivery;
#[path = "../mcp/example.rs"]
mod example;
mod examples;
#[expect(dead_code, reason = "the tests of spans use all of it")]
#[path = "../spans/kept.rs"]
mod kept;
mod mid_capture;
mod real_agents;
#[expect(dead_code, reason = "the tests with a scripted agent use all of it")]
#[path = "../acp/scene.rs"]
mod scene;
mod security;
mod tools;

/// The model was sent this, in whatever place.
#[track_caller]
fn model_was_told(agent: &agents::RealAgent, words: &str) {
    let requests = std::fs::read_to_string(agent.path("requests")).unwrap();
    assert!(requests.contains(words), "the model was not told {words:?}");
}
