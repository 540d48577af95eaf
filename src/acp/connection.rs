use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::error::{AcpDiagnostics, AcpDisposeError, AcpStage, AcpStartError};
use super::link::{CallError, Link};
use super::mcp::Served;
use super::process::{EndGraces, Exit, GroupGuard, ProcessGroup, Program, StderrTail};
use super::redact::Redactor;
use super::settings::Settings;
use super::transport::OutputEnd;
use super::turn::Turns;
use super::wire::{AgentInfo, initialize_params};

/// How long the exit status of a program may take that closed its output.
const EXIT_STATUS: Duration = Duration::from_millis(500);
/// How long stderr may take once the program is gone.
const STDERR: Duration = Duration::from_millis(200);
/// How long the agent may take to close a session.
const CLOSE: Duration = Duration::from_secs(1);
/// No session is open yet: an agent that failed to start gets less time to end.
const FAILED_START: Duration = Duration::from_secs(1);

/// One running agent: its process, and the protocol with it.
pub(crate) struct Connection {
    command: String,
    settings: Arc<Settings>,
    agent: AgentInfo,
    link: Link,
    stderr: Mutex<StderrTail>,
    redactor: Redactor,
    withheld: Vec<String>,
    group: Arc<ProcessGroup>,
    end: Mutex<End>,
    /// The agent is on its way out, and has its own time for that.
    closing: AtomicBool,
    killed: AtomicBool,
}

/// Nothing that the agent wrote or was given: it may hold secrets.
impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("command", &self.command).finish_non_exhaustive()
    }
}

enum End {
    /// Dropping the guard kills the group.
    Alive(GroupGuard),
    Ended(Result<Exit, AcpDisposeError>),
}

impl Connection {
    /// Starts the program and shakes hands. Where this fails, nothing of it is left.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the program's group is killed at once.
    pub(crate) async fn open(program: &Program, settings: Arc<Settings>) -> Result<Self, AcpStartError> {
        let process = program.spawn()?;
        let group = Arc::clone(process.guard.group());
        let link = Link::open(
            process.stdin,
            process.stdout,
            Arc::clone(&group),
            settings.permissions.clone(),
            settings.longest_line,
        )
        .await;
        let Some(link) = link else {
            let ended = Some("no connection with it could be opened".to_owned());
            return Err(AcpStartError::Gone {
                command: program.name(),
                stage: AcpStage::Initialize,
                diagnostics: Box::new(AcpDiagnostics { ended, ..AcpDiagnostics::default() }),
            });
        };
        let mut connection = Self {
            command: program.name(),
            settings,
            agent: AgentInfo::unknown(),
            link,
            stderr: Mutex::new(process.stderr),
            redactor: process.redactor,
            withheld: process.withheld,
            group,
            end: Mutex::new(End::Alive(process.guard)),
            closing: AtomicBool::new(false),
            killed: AtomicBool::new(false),
        };
        match connection.shake_hands().await {
            Ok(agent) => {
                connection.agent = agent;
                Ok(connection)
            }
            Err(error) => {
                connection.close_failed().await;
                Err(error)
            }
        }
    }

    async fn shake_hands(&self) -> Result<AgentInfo, AcpStartError> {
        let stage = AcpStage::Initialize;
        let params = initialize_params(&self.settings.client_name);
        let answer = self.call(stage, "initialize", params).await?;
        AgentInfo::parse(answer)
            .map_err(|version| AcpStartError::ProtocolVersion { command: self.command.clone(), version })
    }

    /// From now on the agent may use what it is served, and nobody is shown the secret of that.
    pub(super) fn serve(&mut self, served: &Arc<Served>) {
        self.redactor = self.redactor.and(served.secret());
        self.link.serve(served);
    }

    pub(crate) fn command(&self) -> &str {
        &self.command
    }

    pub(crate) fn agent(&self) -> &AgentInfo {
        &self.agent
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    pub(super) fn turns(&self) -> &Turns {
        self.link.turns()
    }

    /// Whether the agent can still be talked to.
    pub(crate) fn is_open(&self) -> bool {
        // A process that is killed may need a moment to die.
        !self.killed.load(Ordering::Relaxed)
            && self.group.exit().is_none()
            && self.link.output_end().is_none()
            && !self.link.is_broken()
    }

    /// Sends a request, within the start deadline.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the request stays sent.
    pub(crate) async fn call(
        &self,
        stage: AcpStage,
        method: &str,
        params: Value,
    ) -> Result<Value, AcpStartError> {
        let limit = self.settings.start_limit;
        let command = || self.command.clone();
        match tokio::time::timeout(limit, self.link.call(method, params)).await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(CallError::Answered(answer))) if answer.code == LOGIN_REQUIRED => {
                Err(AcpStartError::LoginRequired {
                    command: command(),
                    methods: self.agent.login_methods.clone(),
                    withheld: self.withheld.clone(),
                })
            }
            Ok(Err(CallError::Answered(mut answer))) => {
                answer.message = self.redactor.hide(&answer.message);
                Err(AcpStartError::Refused {
                    command: command(),
                    stage,
                    answer,
                    diagnostics: self.diagnostics().await,
                })
            }
            Ok(Err(CallError::Gone)) => {
                Err(AcpStartError::Gone { command: command(), stage, diagnostics: self.diagnostics().await })
            }
            Err(_) => Err(AcpStartError::Deadline {
                command: command(),
                stage,
                limit,
                diagnostics: self.diagnostics().await,
            }),
        }
    }

    /// What there is to say about an agent that misbehaved or is gone.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost.
    pub(crate) async fn diagnostics(&self) -> Box<AcpDiagnostics> {
        let ended = self.how_it_ended().await;
        let mut stderr = self.stderr.lock().await;
        if ended.is_some() {
            stderr.settle(STDERR).await;
        }
        let noise = self.link.traffic().noise();
        let hide = |line: &str| self.redactor.hide(line);
        Box::new(AcpDiagnostics {
            ended,
            stderr: stderr.lines().iter().map(|line| hide(line)).collect(),
            noise: noise.lines().map(hide).collect(),
            noise_lines: noise.count,
        })
    }

    async fn how_it_ended(&self) -> Option<String> {
        let output_end = self.link.output_end();
        if let Some(OutputEnd::LineTooLong(limit)) = output_end {
            return Some(format!("it wrote a line of more than {limit} bytes"));
        }
        if output_end.is_none() && !self.link.is_broken() && self.group.exit().is_none() {
            return None;
        }
        if let Ok(exit) = tokio::time::timeout(EXIT_STATUS, self.group.exited()).await {
            return Some(exit.to_string());
        }
        Some(match output_end {
            Some(OutputEnd::Failed(error)) => format!("its output cannot be read ({error}), but it lives on"),
            Some(_) => "it closed its output, but lives on".to_owned(),
            None => "it closed its input, but lives on".to_owned(),
        })
    }

    /// Text that quotes the agent, without known secrets.
    pub(super) fn hide(&self, text: &str) -> String {
        self.redactor.hide(text)
    }

    /// Kills the process group at once; it is still to be closed.
    pub(crate) fn kill(&self) {
        self.killed.store(true, Ordering::Relaxed);
        self.group.kill();
    }

    /// Kills the process group at once and collects it; needs no runtime.
    pub(crate) fn kill_now(&self) {
        self.group.kill_now();
    }

    /// Whether the agent is being ended.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Ends the agent rung by rung: closes the session if the agent offers that, then its stdin, and so on.
    /// A second call waits for the first and says the same.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the group is killed at once.
    pub(crate) async fn close(&self, session: Option<&str>) -> Result<(), AcpDisposeError> {
        self.close_within(session, self.settings.graces).await
    }

    /// Ends an agent whose start failed.
    pub(crate) async fn close_failed(&self) {
        let graces = EndGraces {
            stdin_end: self.settings.graces.stdin_end.min(FAILED_START),
            terminate: self.settings.graces.terminate.min(FAILED_START),
        };
        if let Err(error) = self.close_within(None, graces).await {
            tracing::warn!(%error, "an ACP agent that failed to start is not gone");
        }
    }

    async fn close_within(&self, session: Option<&str>, graces: EndGraces) -> Result<(), AcpDisposeError> {
        self.closing.store(true, Ordering::Relaxed);
        let mut end = self.end.lock().await;
        if let End::Ended(result) = &*end {
            return result.clone().map(drop);
        }
        if let Some(session) = session
            && self.agent.close
            && self.is_open()
        {
            let closing = self.link.call("session/close", json!({ "sessionId": session }));
            drop(tokio::time::timeout(CLOSE, closing).await);
        }
        self.link.close_stdin().await;
        let gone = Err(AcpDisposeError::Survivors { command: self.command.clone(), processes: Vec::new() });
        let End::Alive(guard) = std::mem::replace(&mut *end, End::Ended(gone)) else { return Ok(()) };
        let result = guard.end(graces).await.map_err(|survivors| AcpDisposeError::Survivors {
            command: self.command.clone(),
            processes: survivors.0,
        });
        *end = End::Ended(result.clone());
        self.link.finish().await;
        let mut stderr = self.stderr.lock().await;
        stderr.settle(STDERR).await;
        stderr.close().await;
        result.map(drop)
    }
}

/// JSON-RPC error code of the protocol.
const LOGIN_REQUIRED: i64 = -32_000;
