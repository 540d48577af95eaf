use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures::StreamExt as _;
use subagent::acp::{Acp, AcpBuilder, PermissionPolicy};
use subagent::{StopReason, SubagentResult, Update, Updates};

use super::scene::{SOON, Scene, eventually, patiently};

/// Tells our standard streams, then becomes the agent.
const TOLD: &str =
    r#"echo $$ $(readlink /proc/$$/fd/0 /proc/$$/fd/1 /proc/$$/fd/2) >>agents; exec "$0" "$@""#;

/// A scene with a scripted model, and an agent that talks to it.
pub(crate) struct RealAgent {
    pub(crate) name: &'static str,
    model: Child,
    port: String,
    scene: Scene,
}

impl RealAgent {
    /// `None`, said visibly, where the agent is not installed.
    fn new(name: &'static str) -> Option<Self> {
        if !is_installed(name) {
            let required = std::env::var_os("SUBAGENT_REQUIRE_ALL").is_some();
            assert!(!required, "not installed: tests/acp-agents/agent install {name}");
            // Past the harness, which keeps what a passing test prints to itself.
            let said = format!("SKIPPED: not installed: tests/acp-agents/agent install {name}\n");
            std::io::stderr().write_all(said.as_bytes()).unwrap();
            return None;
        }
        let scene = Scene::new()?;
        let mut model = Command::new("python3")
            .arg(script("llm.py"))
            .arg("0")
            .arg(scene.path("model.log"))
            .env("MOCK_DUMP", scene.path("requests"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(model.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let port = said.trim().strip_prefix("PORT ").expect("it says its port").to_owned();
        Some(Self { name, model, port, scene })
    }

    /// How it is started, the program first.
    pub(crate) fn command(&self) -> [OsString; 8] {
        let (agent, home) = (script("agent").into(), self.path("home").into());
        [
            "/bin/sh".into(),
            "-c".into(),
            TOLD.into(),
            agent,
            "run".into(),
            self.name.into(),
            self.port.clone().into(),
            home,
        ]
    }

    pub(crate) fn builder(&self) -> AcpBuilder {
        // Codex does not end when its stdin does: there is nothing to wait for.
        let grace = if self.name == "codex" { SOON } else { Duration::from_secs(6) };
        let [command, arguments @ ..] = self.command();
        Acp::builder(command)
            .stdin_end_grace(grace)
            .arguments(arguments)
            .variable("SUBAGENT_TEST_SCENE", &self.directory)
            .working_dir(&self.directory)
    }

    pub(crate) fn allowing(&self) -> AcpBuilder {
        self.builder().permissions(PermissionPolicy::allow())
    }

    /// A prompt that makes the model call the agent's shell tool.
    pub(crate) fn call(&self, command: &str) -> String {
        let tool = if self.name == "claude" { "^Bash$" } else { "^(shell|exec_command|shell_command)$" };
        format!("Please run it. [[tool:{tool}]] [[cmd:{command}]]")
    }

    /// Waits until the model has heard this.
    pub(crate) async fn model_heard(&self, word: &str) {
        let log = self.path("model.log");
        eventually(|| std::fs::read_to_string(&log).ok()?.contains(word).then_some(())).await;
    }

    /// Kills the agent's own process, the one that was started last.
    pub(crate) fn kill_leader(&self) {
        let agents = std::fs::read_to_string(self.path("agents")).unwrap();
        let leader = agents.lines().last().unwrap().split(' ').next().unwrap();
        assert!(Command::new("kill").args(["-s", "KILL", leader]).status().unwrap().success());
    }
}

impl Deref for RealAgent {
    type Target = Scene;

    fn deref(&self) -> &Scene {
        &self.scene
    }
}

impl Drop for RealAgent {
    fn drop(&mut self) {
        drop(self.model.kill());
        drop(self.model.wait());
    }
}

/// One test with both agents that ask a model, side by side.
#[expect(clippy::future_not_send, reason = "a test stays on its thread")]
pub(crate) async fn with_each(test: impl AsyncFn(&RealAgent)) {
    let test = &test;
    let tests = ["codex", "claude"].map(async |name| with(name, test).await);
    futures::future::join_all(tests).await;
}

pub(crate) async fn with(name: &'static str, test: impl AsyncFn(&RealAgent)) {
    if let Some(agent) = RealAgent::new(name) {
        test(&agent).await;
        agent.assert_nothing_left();
    }
}

#[track_caller]
pub(crate) fn assert_completed<O>(agent: &RealAgent, said: &SubagentResult<O>, text: &str) {
    assert_eq!(said.stop_reason(), &StopReason::Completed, "{}: {said:?}", agent.name);
    assert!(said.text().contains(text), "{}: {}", agent.name, said.text());
}

/// Waits for an update of this kind.
pub(crate) async fn seen(updates: &mut Updates, is_it: fn(&Update) -> bool) {
    patiently(async { while !is_it(&updates.next().await.expect("the run is not over").unwrap()) {} }).await;
}

fn is_installed(name: &str) -> bool {
    let cache = || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cache/subagent-acp");
    let installed = std::env::var_os("SUBAGENT_ACP_DIR").map_or_else(cache, PathBuf::from);
    installed.join(name).join("ok").exists()
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp-agents").join(name)
}
