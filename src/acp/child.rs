use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::error::AcpStartError;
use super::launcher::Launcher;
use super::mcp::Served;
use super::session::Session;
use super::steering;
use super::turn_task::TurnTask;
use crate::content::ContentBlock;
use crate::error::{DisposeError, ResumeError, SteerError};
use crate::run::{Settlement, first_uncarried};
use crate::sync::lock;

/// How long an agent that is disposed of in a turn may take to end the turn, before it is ended itself.
const LAST_TURN: Duration = Duration::from_millis(500);

/// An agent at work: its process and session, and the task that drives its turn. Dropping it kills the process
/// group at once.
pub(super) struct Child {
    launcher: Arc<Launcher>,
    directory: PathBuf,
    session: Mutex<Arc<Session>>,
    turn: Mutex<Option<TurnTask>>,
    served: Option<Arc<Served>>,
    /// Messages reach the agent in the order in which they were given.
    sending: tokio::sync::Mutex<()>,
}

impl Child {
    /// Prompts the agent.
    pub(super) fn begin(
        launcher: Arc<Launcher>,
        directory: PathBuf,
        session: Session,
        served: Option<Arc<Served>>,
        prompt: Vec<ContentBlock>,
        settlement: Settlement,
    ) -> Self {
        let session = Arc::new(session);
        let turn = TurnTask::begin(Arc::clone(&session), served.clone(), prompt, settlement);
        Self {
            launcher,
            directory,
            session: Mutex::new(session),
            turn: Mutex::new(Some(turn)),
            served,
            sending: tokio::sync::Mutex::new(()),
        }
    }

    /// Prompts the agent once more, in a fresh process if the one before is gone.
    pub(super) async fn follow_up(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        steering: bool,
    ) -> Result<(), ResumeError> {
        let carried = self.session().content();
        if let Some((index, kind)) = first_uncarried(&content, carried) {
            return Err(ResumeError::UnsupportedContent { kind, index, carried });
        }
        let cancellation = settlement.cancellation();
        let opening = async {
            // The run before may have settled without its agent.
            let over = lock(&self.turn).as_ref().map(TurnTask::over);
            if let Some(over) = over {
                over.cancelled().await;
            }
            self.open_session(steering).await
        };
        let session = tokio::select! {
            biased;
            () = cancellation.cancelled() => return Err(ResumeError::failed("cancelled before its session was open")),
            opened = opening => opened.map_err(ResumeError::failed)?,
        };
        let turn = TurnTask::begin(session, self.served.clone(), content, settlement);
        let earlier = lock(&self.turn).replace(turn);
        drop(earlier);
        Ok(())
    }

    async fn open_session(&self, steering: bool) -> Result<Arc<Session>, AcpStartError> {
        let session = self.session();
        let connection = session.connection();
        if connection.is_open() {
            return Ok(session);
        }
        session.check_reopenable()?;
        // The process is gone, but what it started may not be.
        connection.close_failed().await;
        let again = self
            .launcher
            .session(self.directory.clone(), Some(session.id()), steering, self.served.as_ref())
            .await?;
        let again = Arc::new(again);
        *lock(&self.session) = Arc::clone(&again);
        Ok(again)
    }

    /// Hands a message to the turn that is under way.
    pub(super) async fn send(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        let session = self.session();
        let carried = session.content();
        if let Some((index, kind)) = first_uncarried(&content, carried) {
            return Err(SteerError::UnsupportedContent { kind, index, carried });
        }
        let over = lock(&self.turn).as_ref().map(TurnTask::over).ok_or(SteerError::Settled)?;
        let _in_order = self.sending.lock().await;
        steering::send(&session, &content, &over).await?;
        if let Some(served) = &self.served {
            served.steered();
        }
        Ok(())
    }

    pub(super) fn session_id(&self) -> String {
        self.session().id().to_owned()
    }

    pub(super) fn can_steer(&self) -> bool {
        steering::is_offered(self.session().connection().agent())
    }

    /// Ends the turn, then the process group, rung by rung.
    pub(super) async fn dispose(self) -> Result<(), DisposeError> {
        let turn = lock(&self.turn).take();
        if let Some(turn) = &turn {
            turn.stop();
            // An agent that hears the cancel ends its tools, too.
            drop(tokio::time::timeout(LAST_TURN, turn.over().cancelled_owned()).await);
        }
        let closed = self.session().close().await;
        if let Some(turn) = turn {
            turn.join().await;
        }
        if let Some(served) = &self.served {
            served.close().await;
        }
        closed.map_err(DisposeError::failed)
    }

    fn session(&self) -> Arc<Session> {
        Arc::clone(&lock(&self.session))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.session().connection().kill_now();
    }
}

impl fmt::Debug for Child {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Child").field("session", &self.session()).finish_non_exhaustive()
    }
}
