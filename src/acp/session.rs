mod choices;
mod drive;

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::error::{AcpDisposeError, AcpStage, AcpStartError};
use super::turn::NoTurn;
use super::wire::text_at;
use crate::content::{ContentBlock, ContentKind, ContentKinds};
use crate::stop_reason::StopReason;
use crate::update::Update;
use choices::Choices;

/// How long a session has to be silent until what comes is of the next turn.
const SILENCE: Duration = Duration::from_millis(30);
/// The same after a replay, which agents may go on with after they answered.
const REPLAY_SILENCE: Duration = Duration::from_millis(150);
/// For how long silence is waited for.
const LONGEST_SILENCE: Duration = Duration::from_secs(2);
/// How many pages of an agent's sessions are looked through.
const PAGES: usize = 20;

/// What a session is opened with.
#[derive(Clone)]
pub(crate) struct SessionSetup {
    pub(crate) directory: PathBuf,
    /// MCP servers, as the protocol writes them.
    pub(crate) mcp_servers: Vec<Value>,
    pub(crate) model: Option<String>,
    pub(crate) mode: Option<String>,
}

/// One conversation with an agent.
pub(crate) struct Session {
    connection: Arc<Connection>,
    setup: SessionSetup,
    id: String,
    choices: Mutex<Choices>,
}

/// Not what it was opened with: that may hold secrets.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

/// How a turn ended. What the child said is in the updates.
#[derive(Debug)]
pub(crate) struct TurnOutcome {
    pub(crate) stop: StopReason,
    pub(crate) diagnostic: Option<String>,
}

impl Session {
    /// Opens a new session. Where this fails, the agent is ended.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the agent lives on until its connection is closed or dropped.
    pub(crate) async fn open(
        connection: Arc<Connection>,
        setup: SessionSetup,
    ) -> Result<Self, AcpStartError> {
        let opened = Self::open_new(&connection, &setup).await;
        Self::or_close(connection, setup, opened).await
    }

    /// Opens a session again that an agent had before, here or in another process. Where this fails, the agent
    /// is ended.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the agent lives on until its connection is closed or dropped.
    pub(crate) async fn reopen(
        connection: Arc<Connection>,
        setup: SessionSetup,
        id: &str,
    ) -> Result<Self, AcpStartError> {
        let opened = restore(&connection, &setup, id).await.map(|answer| (id.to_owned(), answer));
        Self::or_close(connection, setup, opened).await
    }

    async fn open_new(
        connection: &Connection,
        setup: &SessionSetup,
    ) -> Result<(String, Value), AcpStartError> {
        let stage = AcpStage::NewSession;
        let params = json!({ "cwd": setup.directory, "mcpServers": setup.mcp_servers });
        let answer = connection.call(stage, "session/new", params).await?;
        let id = text_at(&answer, "sessionId").filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| AcpStartError::Malformed {
            command: connection.command().to_owned(),
            stage,
            problem: "it has no session id".to_owned(),
        })?;
        connection.turns().open(&id);
        Ok((id, answer))
    }

    async fn or_close(
        connection: Arc<Connection>,
        setup: SessionSetup,
        opened: Result<(String, Value), AcpStartError>,
    ) -> Result<Self, AcpStartError> {
        let configured = match opened {
            Ok((id, answer)) => {
                let session = Self {
                    connection: Arc::clone(&connection),
                    setup,
                    id,
                    choices: Mutex::new(Choices::read(&answer)),
                };
                session.configure().await.map(|()| session)
            }
            Err(error) => Err(error),
        };
        if configured.is_err() {
            connection.close_failed().await;
        }
        configured
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// The kinds of content that the agent takes in a prompt.
    pub(crate) fn content(&self) -> ContentKinds {
        let agent = self.connection.agent();
        [
            (ContentKind::ResourceLink, true),
            (ContentKind::Image, agent.image),
            (ContentKind::Audio, agent.audio),
            (ContentKind::Resource, agent.embedded_context),
        ]
        .into_iter()
        .filter(|(_, taken)| *taken)
        .fold(ContentKinds::TEXT, |kinds, (kind, _)| kinds.with(kind))
    }

    /// Runs one turn: prompts, hands every update to `on_update` in order, and says how the turn ended. While
    /// `on_update` waits, the agent is slowed down.
    ///
    /// `cancel` ends the turn as aborted, whatever the agent answers. An agent that does not answer in time is
    /// killed.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the turn goes on and its updates are dropped.
    pub(crate) async fn run_turn<F>(
        &self,
        content: &[ContentBlock],
        cancel: &CancellationToken,
        on_update: impl FnMut(Update) -> F + Send,
    ) -> TurnOutcome
    where
        F: Future<Output = ()> + Send,
    {
        drive::run_turn(self, content, cancel, on_update).await
    }

    /// Ends the agent, this session first where it offers that.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the agent's process group is killed at once.
    pub(crate) async fn close(&self) -> Result<(), AcpDisposeError> {
        self.connection.close(Some(&self.id)).await
    }

    /// Whether a fresh process could open this session again, as far as the agent says.
    pub(crate) fn check_reopenable(&self) -> Result<(), AcpStartError> {
        method_to_restore(&self.connection).map(drop)
    }

    /// Opens this session again in the same process.
    async fn restore(&self) -> Result<(), AcpStartError> {
        let answer = restore(&self.connection, &self.setup, &self.id).await?;
        *self.choices.lock().unwrap_or_else(PoisonError::into_inner) = Choices::read(&answer);
        self.configure().await
    }

    /// Chooses the model and mode that were asked for.
    async fn configure(&self) -> Result<(), AcpStartError> {
        for (category, value) in [("model", &self.setup.model), ("mode", &self.setup.mode)] {
            let Some(value) = value else { continue };
            let request = {
                let choices = self.choices.lock().unwrap_or_else(PoisonError::into_inner);
                choices.request(&self.id, category, value).map_err(|known| AcpStartError::UnknownChoice {
                    command: self.connection.command().to_owned(),
                    category: category.to_owned(),
                    value: value.clone(),
                    known,
                })?
            };
            let Some((method, params)) = request else { continue };
            let answer = self.connection.call(AcpStage::Configure, method, params).await?;
            self.choices.lock().unwrap_or_else(PoisonError::into_inner).update(&answer);
        }
        Ok(())
    }
}

/// Opens a session again by `session/resume`, else by `session/load`; nothing of it reaches a turn.
async fn restore(connection: &Connection, setup: &SessionSetup, id: &str) -> Result<Value, AcpStartError> {
    let command = || connection.command().to_owned();
    let stage = AcpStage::Reopen;
    let agent = connection.agent();
    let method = method_to_restore(connection)?;
    connection.turns().begin_restoring(id).map_err(|reason| match reason {
        NoTurn::Lost => {
            AcpStartError::Malformed { command: command(), stage, problem: "the agent is gone".to_owned() }
        }
        NoTurn::Busy | NoTurn::Poisoned => AcpStartError::Malformed {
            command: command(),
            stage,
            problem: "a turn is still in flight".to_owned(),
        },
    })?;
    let restored = restored(connection, setup, id, method).await;
    let replayed = connection.turns().end_restoring(restored.is_ok());
    let answer = restored?;
    // An agent may say yes to a session it does not have.
    let unknown = if agent.resume { !is_listed(connection, id).await? } else { replayed == 0 };
    if unknown {
        connection.turns().poison_idle();
        return Err(AcpStartError::Malformed {
            command: command(),
            stage,
            problem: format!("it accepted the session {id:?} but does not know it"),
        });
    }
    Ok(answer)
}

fn method_to_restore(connection: &Connection) -> Result<&'static str, AcpStartError> {
    let agent = connection.agent();
    if agent.resume {
        Ok("session/resume")
    } else if agent.load {
        Ok("session/load")
    } else {
        Err(AcpStartError::NotOffered {
            command: connection.command().to_owned(),
            ability: "to open a session again (`session/resume` or `session/load`); start a new run",
        })
    }
}

async fn restored(
    connection: &Connection,
    setup: &SessionSetup,
    id: &str,
    method: &str,
) -> Result<Value, AcpStartError> {
    let params = json!({ "sessionId": id, "cwd": setup.directory, "mcpServers": setup.mcp_servers });
    let answer = connection.call(AcpStage::Reopen, method, params).await?;
    connection.turns().quiet(REPLAY_SILENCE, LONGEST_SILENCE).await;
    match text_at(&answer, "sessionId") {
        Some(other) if other != id => Err(AcpStartError::Malformed {
            command: connection.command().to_owned(),
            stage: AcpStage::Reopen,
            problem: format!("it is about the session {other:?}, not {id:?}"),
        }),
        _ => Ok(answer),
    }
}

/// Whether the agent lists a session, as far as it lists any.
async fn is_listed(connection: &Connection, id: &str) -> Result<bool, AcpStartError> {
    if !connection.agent().list {
        return Ok(true);
    }
    let mut params = json!({});
    for _ in 0..PAGES {
        let page = match connection.call(AcpStage::Reopen, "session/list", params).await {
            Ok(page) => page,
            // That it cannot list them says nothing about this one.
            Err(AcpStartError::Refused { .. }) => return Ok(true),
            Err(error) => return Err(error),
        };
        let Some(sessions) = page["sessions"].as_array() else { return Ok(true) };
        if sessions.iter().any(|session| session["sessionId"] == id) {
            return Ok(true);
        }
        match text_at(&page, "nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => return Ok(false),
        }
    }
    Ok(true)
}
