use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::acp::connection::Connection;
use crate::acp::environment::Environment;
use crate::acp::error::AcpStartError;
use crate::acp::process::Program;
use crate::acp::session::{Session, SessionSetup, TurnOutcome};
use crate::acp::settings::Settings;
use crate::content::ContentBlock;
use crate::update::Update;

/// Far beyond what anything here takes, also on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// A directory, the agents started in it, and the check that nothing of them is left.
pub(super) struct Scene {
    pub(super) directory: PathBuf,
}

impl Scene {
    /// `None`, said visibly, where what it needs is missing.
    pub(super) fn new() -> Option<Self> {
        if !can_run() {
            return None;
        }
        let directory = std::env::temp_dir().join(format!("subagent-acp-{}", uuid::Uuid::now_v7().simple()));
        std::fs::create_dir(&directory).unwrap();
        Some(Self { directory: directory.canonicalize().unwrap() })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A scripted agent; `{}` in an option is the scene's directory.
    pub(super) fn agent(&self, options: &[&str]) -> Program {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp/scripted_agent.py");
        let directory = self.directory.to_str().unwrap();
        let mut arguments = vec![script.into(), format!("started={directory}/started").into()];
        arguments.extend(options.iter().map(|option| option.replace("{}", directory).into()));
        Program {
            command: "python3".into(),
            arguments,
            environment: Environment::default(),
            directory: self.directory.clone(),
        }
    }

    pub(super) fn setup(&self) -> SessionSetup {
        SessionSetup { directory: self.directory.clone(), mcp_servers: Vec::new(), model: None, mode: None }
    }

    pub(super) async fn connect(&self, options: &[&str]) -> Result<Connection, AcpStartError> {
        self.connect_with(options, Settings::default()).await
    }

    pub(super) async fn connect_with(
        &self,
        options: &[&str],
        settings: Settings,
    ) -> Result<Connection, AcpStartError> {
        Connection::open(&self.agent(options), Arc::new(settings)).await
    }

    pub(super) async fn session(&self, options: &[&str]) -> Session {
        self.session_with(options, Settings::default()).await
    }

    pub(super) async fn session_with(&self, options: &[&str], settings: Settings) -> Session {
        let connection = self.connect_with(options, settings).await.unwrap();
        Session::open(Arc::new(connection), self.setup()).await.unwrap()
    }

    /// Waits for a file that an agent writes.
    pub(super) async fn appears(&self, name: &str) -> String {
        eventually(|| std::fs::read_to_string(self.path(name)).ok()).await
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// Everything that runs, or is a zombie of ours, because of this scene. Orphans that are dead wait for init.
    pub(super) fn left(&self) -> BTreeSet<String> {
        let leader = std::fs::read_to_string(self.path("started")).ok();
        let here = self.directory.to_str().unwrap().as_bytes();
        let mut left = BTreeSet::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let mut fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields).split_whitespace();
            let (state, parent, group) = (fields.next(), fields.next(), fields.next());
            if state == Some("Z") && parent == Some("1") {
                continue;
            }
            let of_the_group = leader.is_some() && group == leader.as_deref();
            let watchdog = String::from_utf8_lossy(&command).contains("subagent-watchdog")
                && leader.as_ref().is_some_and(|leader| command.ends_with(format!("{leader}\0").as_bytes()));
            if of_the_group || watchdog || memchr::memmem::find(&command, here).is_some() {
                left.insert(format!("{} {}", stat.trim(), String::from_utf8_lossy(&command)));
            }
        }
        left
    }

    /// The same, but the leader may be a zombie that its owner has yet to collect.
    pub(super) async fn assert_gone_but_the_zombie(&self) {
        eventually(|| {
            self.left()
                .iter()
                .all(|process| process.contains(") Z ") || process.contains("subagent-watchdog"))
                .then_some(())
        })
        .await;
    }

    /// Asserts that nothing is left, given a moment for what was killed without waiting.
    pub(super) async fn assert_gone(&self) {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while !self.left().is_empty() {
            assert!(tokio::time::Instant::now() < deadline, "left: {:#?}", self.left());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Whether the scripted agent can run here, and what is left of it be seen.
fn can_run() -> bool {
    static CAN_RUN: LazyLock<bool> = LazyLock::new(|| {
        let python = std::process::Command::new("python3").arg("--version").output();
        let can_run = Path::new("/proc/self/stat").exists() && python.is_ok_and(|said| said.status.success());
        if !can_run {
            let required = std::env::var_os("SUBAGENT_REQUIRE_ALL").is_some();
            assert!(!required, "the tests of ACP children need python3 and Linux");
            // Past the harness, which keeps what a passing test prints to itself.
            let said = "SKIPPED: the tests of ACP children need python3 and Linux\n";
            std::io::stderr().write_all(said.as_bytes()).unwrap();
        }
        can_run
    });
    *CAN_RUN
}

impl Drop for Scene {
    fn drop(&mut self) {
        let left = self.left();
        std::fs::remove_dir_all(&self.directory).unwrap();
        if !std::thread::panicking() {
            assert!(left.is_empty(), "left behind: {left:#?}");
        }
    }
}

/// Asks again until there is an answer.
pub(super) async fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    tokio::time::timeout(PATIENCE, async {
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("it never came")
}

/// A turn, and what was reported in it.
pub(super) struct Said {
    pub(super) outcome: TurnOutcome,
    pub(super) updates: Vec<Update>,
}

impl Said {
    pub(super) fn text(&self) -> String {
        self.updates
            .iter()
            .filter_map(|update| match update {
                Update::Text { text } => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    pub(super) fn others(&self, wanted: &str) -> Vec<&serde_json::Value> {
        self.updates
            .iter()
            .filter_map(|update| match update {
                Update::Other { kind, data } if kind == wanted => Some(data),
                _ => None,
            })
            .collect()
    }
}

pub(super) async fn turn(session: &Session, script: &str) -> Said {
    turn_until(session, script, &CancellationToken::new(), |_| {}).await
}

pub(super) async fn turn_until(
    session: &Session,
    script: &str,
    cancel: &CancellationToken,
    mut seen: impl FnMut(&Update) + Send,
) -> Said {
    let updates = Mutex::new(Vec::new());
    let content = [ContentBlock::text(script)];
    let running = session.run_turn(&content, cancel, |update| {
        seen(&update);
        updates.lock().unwrap().push(update);
        std::future::ready(())
    });
    let outcome = tokio::time::timeout(PATIENCE, running).await.expect("the turn never ended");
    Said { outcome, updates: updates.into_inner().unwrap() }
}
