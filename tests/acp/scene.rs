use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use subagent::acp::{Acp, AcpBuilder, AcpRun, AcpStartError};
use subagent::{
    Event, Live, NoOutput, Presence, ProviderHandle, Registration, Request, StartError, StopReason,
    SubagentResult, Subagents, Subscription,
};

/// Far beyond what anything here takes, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// Short enough for a test that has to wait it out.
pub(crate) const SOON: Duration = Duration::from_millis(200);

/// Of the next scene of this process.
static NUMBER: AtomicUsize = AtomicUsize::new(0);

/// A directory and a registry, the agents that are started in them, and the check that nothing of them is left.
pub(crate) struct Scene {
    pub(crate) subagents: Subagents,
    pub(crate) directory: PathBuf,
    events: Arc<Mutex<Vec<Event>>>,
    _listener: Subscription,
}

impl Scene {
    /// `None`, said visibly, where what it needs is missing.
    pub(crate) fn new() -> Option<Self> {
        Self::with(Subagents::new())
    }

    pub(crate) fn with(subagents: Subagents) -> Option<Self> {
        if !can_run() {
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("subagent-acp-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().canonicalize().unwrap().join(name);
        std::fs::create_dir(&directory).unwrap();
        Some(Self::at(directory, subagents))
    }

    pub(crate) fn at(directory: PathBuf, subagents: Subagents) -> Self {
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&events);
        let listener = subagents.subscribe(move |event| heard.lock().unwrap().push(event.clone()));
        Self { subagents, directory, events, _listener: listener }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// A scripted agent; `{}` in an option is the scene's directory.
    pub(crate) fn agent(&self, options: &[&str]) -> AcpBuilder {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp/scripted_agent.py");
        Acp::builder("python3")
            .argument(script)
            .argument(format!("agents={}/agents", self.directory.display()))
            .argument(format!("log={}/log", self.directory.display()))
            .arguments(options.iter().map(|option| self.fill(option)))
            .variable("SUBAGENT_TEST_SCENE", &self.directory)
            .working_dir(&self.directory)
    }

    pub(crate) fn fill(&self, text: &str) -> String {
        text.replace("{}", self.directory.to_str().unwrap())
    }

    pub(crate) fn register<S: Presence>(&self, agent: AcpBuilder<S>) -> Registration<Acp<S>> {
        self.subagents.register("agent", agent.build().unwrap()).unwrap()
    }

    /// Starts a run that follows this script.
    pub(crate) async fn start<S: Presence>(
        &self,
        agent: &ProviderHandle<Acp<S>>,
        script: &str,
    ) -> Live<AcpRun<S>, NoOutput> {
        self.try_start(agent, Request::new(self.fill(script))).await.unwrap()
    }

    pub(crate) async fn try_start<S: Presence>(
        &self,
        agent: &ProviderHandle<Acp<S>>,
        request: Request,
    ) -> Result<Live<AcpRun<S>, NoOutput>, StartError> {
        patiently(agent.start(request)).await
    }

    /// The whole way: what comes of a run that follows this script.
    pub(crate) async fn result<S: Presence>(
        &self,
        agent: &ProviderHandle<Acp<S>>,
        script: &str,
    ) -> SubagentResult {
        let collected = patiently(self.start(agent, script).await.collect()).await;
        collected.disposal.unwrap();
        collected.result.unwrap()
    }

    /// The whole way with an agent of its own.
    pub(crate) async fn said(&self, agent: AcpBuilder, script: &str) -> SubagentResult {
        let agent = self.register(agent);
        self.result(&agent, script).await
    }

    /// Why an agent does not start.
    pub(crate) async fn refused<S: Presence>(&self, agent: AcpBuilder<S>) -> AcpStartError {
        let told = self.lifecycle();
        let agent = self.register(agent);
        let refused = self.try_start(&agent, Request::new("say x")).await.expect_err("it has to fail");
        assert_eq!(refused.code(), "START_FAILED");
        assert_eq!(self.lifecycle(), told);
        self.assert_nothing_left();
        acp_error(refused)
    }

    /// `started`, and the stop reasons of what ended.
    pub(crate) fn lifecycle(&self) -> Vec<String> {
        let events = self.events.lock().unwrap();
        let told = events.iter().filter_map(|event| match event {
            Event::Started(_) => Some("started".to_owned()),
            Event::Ended(ended) => Some(ended.stop_reason.to_string()),
            _ => None,
        });
        told.collect()
    }

    /// Waits for a file that an agent writes.
    pub(crate) async fn appears(&self, name: &str) -> String {
        eventually(|| std::fs::read_to_string(self.path(name)).ok()).await
    }

    /// Waits until the agent has read this.
    pub(crate) async fn heard(&self, word: &str) {
        eventually(|| self.log().contains(word).then_some(())).await;
    }

    /// What the agents have read.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// How many agents were started.
    pub(crate) fn started(&self) -> usize {
        self.agents().lines().count()
    }

    fn agents(&self) -> String {
        std::fs::read_to_string(self.path("agents")).unwrap_or_default()
    }

    /// What there still is of this scene's agents. Orphans that are dead wait for init, and are not ours.
    pub(crate) fn left(&self) -> BTreeSet<String> {
        let mut left = BTreeSet::new();
        let agents = self.agents();
        let open: Vec<_> = read_dir("/proc/self/fd")
            .filter_map(|entry| Some(entry.path().read_link().ok()?.display().to_string()))
            .collect();
        let mut ids = BTreeSet::new();
        for agent in agents.lines() {
            let mut words = agent.split(' ');
            ids.extend(words.next());
            left.extend(words.filter(|pipe| open.iter().any(|open| open == pipe)).map(str::to_owned));
        }
        let mark = format!("SUBAGENT_TEST_SCENE={}\0", self.directory.display());
        for process in read_dir("/proc") {
            let Ok(stat) = std::fs::read_to_string(process.path().join("stat")) else { continue };
            let read = |name| std::fs::read(process.path().join(name)).unwrap_or_default();
            let command = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
            let is_watchdog = command.contains("subagent-watchdog")
                && command.trim_end().rsplit(' ').next().is_some_and(|leader| ids.contains(leader));
            let id = process.file_name();
            let is_zombie = stat.contains(&format!(") Z {} ", std::process::id()))
                && id.to_str().is_some_and(|id| ids.contains(id));
            let environment = read("environ");
            let is_ours = memchr::memmem::find(&environment, mark.as_bytes()).is_some();
            if is_watchdog || is_zombie || (is_ours && id.to_str() != Some(&std::process::id().to_string())) {
                left.insert(format!("{} {command}", stat.trim()));
            }
        }
        left
    }

    #[track_caller]
    pub(crate) fn assert_nothing_left(&self) {
        assert!(self.left().is_empty(), "left behind: {:#?}", self.left());
    }

    /// Waits until nothing is left.
    pub(crate) async fn gone(&self) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while !self.left().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        if waited.await.is_err() {
            self.assert_nothing_left();
        }
    }
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

/// Whether the scripted agent can run here.
fn can_run() -> bool {
    static CAN_RUN: LazyLock<bool> = LazyLock::new(|| {
        let python = std::process::Command::new("python3").arg("--version").output();
        let can_run = python.is_ok_and(|said| said.status.success());
        if !can_run {
            let required = std::env::var_os("SUBAGENT_REQUIRE_ALL").is_some();
            assert!(!required, "the tests of ACP children need python3");
            // Past the harness, which keeps what a passing test prints to itself.
            std::io::stderr().write_all(b"SKIPPED: the tests of ACP children need python3\n").unwrap();
        }
        can_run
    });
    *CAN_RUN
}

/// What the provider said of a start that failed.
pub(crate) fn acp_error(error: StartError) -> AcpStartError {
    match error {
        StartError::Failed { source, .. } => *source.downcast().expect("an ACP error"),
        other => panic!("{other}"),
    }
}

/// Nothing here takes this long.
pub(crate) async fn patiently<T>(future: impl IntoFuture<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future.into_future()).await.expect("it never came to an end")
}

/// Asks again until there is an answer.
pub(crate) async fn eventually<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    patiently(async {
        loop {
            if let Some(answer) = ask() {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
}

/// This test's own binary, run again for one test, in a process of its own. It is killed when it is dropped. Signals
/// do to it what they do by default: this process may have been started with some ignored, by `nohup` for example.
pub(crate) fn rerun(test: &str, scene: &Scene) -> tokio::process::Command {
    let mut command = tokio::process::Command::new("env");
    command.arg("--default-signal").arg(std::env::current_exe().unwrap());
    command
        .args([test, "--exact", "--nocapture"])
        .env("SUBAGENT_TEST_RERUN", &scene.directory)
        .kill_on_drop(true);
    command
}

/// The scene's directory, where this process is such a rerun.
pub(crate) fn rerun_in() -> Option<PathBuf> {
    std::env::var_os("SUBAGENT_TEST_RERUN").map(PathBuf::from)
}

pub(crate) fn ended(result: &SubagentResult) -> (&StopReason, String) {
    (result.stop_reason(), result.text().into_owned())
}

fn read_dir(path: &str) -> impl Iterator<Item = std::fs::DirEntry> {
    std::fs::read_dir(path).unwrap().flatten()
}
