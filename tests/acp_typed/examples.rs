//! `examples/acp_typed.rs`, as a user runs it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use tokio::process::Command;

use super::agents::with_each;
use super::answers::script;
use super::example::example;
use super::scene::{PATIENCE, Scene};

const ANSWER: &str = "subagent is written in Rust.\n  cargo test\n";

/// What the example prints when it drives this program in this directory.
async fn printed(scene: &Scene, command: Vec<OsString>) -> String {
    let child = Command::new(example("acp_typed", "acp-mcp"))
        .args(command)
        .current_dir(&scene.directory)
        .env("SUBAGENT_TEST_SCENE", &scene.directory)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(PATIENCE, child).await.expect("it ends").unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn agents_written_by_others_answer_the_example() {
    with_each(async |agent| {
        let project = json!({"name": "subagent", "language": "Rust", "commands": ["cargo test"]});
        let steps = json!([{"tool": "deliver_result$", "args": project}, {"text": "That is it."}]);
        // The example asks what it asks; what the project says of itself reaches the model too.
        for notes in ["AGENTS.md", "CLAUDE.md"] {
            std::fs::write(agent.path(notes), script(&steps)).unwrap();
        }
        assert_eq!(printed(agent, agent.command().into()).await, ANSWER);
    })
    .await;
}

#[tokio::test]
async fn the_example_is_the_relay_of_an_agent_that_takes_no_http() {
    let Some(scene) = Scene::new() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp/scripted_agent.py");
    let steps = r#"script=deliver {"name": "subagent", "language": "Rust", "commands": ["cargo test"]}"#;
    let served = format!("{steps}\nservers {}/served", scene.directory.display());
    assert_eq!(printed(&scene, vec!["python3".into(), script.into(), served.into()]).await, ANSWER);
    let servers = scene.appears("served").await;
    assert!(servers.contains("acp_typed") && servers.contains("--mcp-relay"), "{servers}");
}
