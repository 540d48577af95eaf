use std::marker::PhantomData;

use super::child::Child;
use crate::content::ContentBlock;
use crate::error::{DisposeError, ResumeError, SteerError};
use crate::run::{Absent, Live, Presence, Present, Resumable, Run, Settlement, Steerable};

/// A run of an [`Acp`](super::Acp) provider: an agent's process, and a session with it.
///
/// A follow-up is a further prompt in the same session; where the process is gone, a fresh one opens the session
/// again, if the agent can do that.
///
/// Disposing of it ends the process group rung by rung and returns when all of it is gone. Dropping it kills the
/// group at once.
#[derive(Debug)]
pub struct AcpRun<Steer = Absent> {
    child: Child,
    steer: PhantomData<fn() -> Steer>,
}

impl<Steer> AcpRun<Steer> {
    pub(super) fn new(child: Child) -> Self {
        Self { child, steer: PhantomData }
    }

    /// The agent's own id of the session. Agents use an id again, so it tells no runs apart.
    #[must_use]
    pub fn session_id(&self) -> String {
        self.child.session_id()
    }

    /// Whether the agent advertises that it can be steered.
    #[must_use]
    pub fn can_steer(&self) -> bool {
        self.child.can_steer()
    }
}

impl<Steer: Presence> Run for AcpRun<Steer> {
    type Steer = Steer;
    crate::resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        self.child.dispose().await
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, _proof: Steer) -> Result<(), SteerError> {
        self.child.send(content).await
    }
}

/// `Ok` means that the agent took the message into the turn that is under way.
#[diagnostic::do_not_recommend]
impl Steerable for AcpRun<Present> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.child.send(content).await
    }
}

#[diagnostic::do_not_recommend]
impl<Steer: Presence> Resumable for AcpRun<Steer> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.child.follow_up(content, settlement, Steer::PRESENT).await
    }
}

impl<O> Live<AcpRun, O> {
    /// The same run with [`send_message`](Self::send_message).
    ///
    /// # Errors
    ///
    /// The handle as it was, when the agent does not advertise that it can be steered.
    pub fn into_steerable(self) -> Result<Live<AcpRun<Present>, O>, Self> {
        if self.try_run().is_some_and(AcpRun::can_steer) {
            Ok(self.map_run(|run| AcpRun::new(run.child)))
        } else {
            Err(self)
        }
    }
}
