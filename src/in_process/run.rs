use std::fmt;
use std::marker::PhantomData;
use std::sync::Mutex;
use std::time::Duration;

use super::children::Listed;
use super::turn::{Seat, Turn, Worker};
use super::{Child, Settings};
use crate::agent::{Activity, Session, TurnOptions, UsageLedger};
use crate::content::{ContentBlock, ContentKinds};
use crate::error::{DisposeError, ResumeError, SteerError};
use crate::id::AgentId;
use crate::parent::Parent;
use crate::request::StartRequest;
use crate::run::{Presence, Present, Resumable, Run, Settlement, Steerable, first_uncarried};
use crate::sync::lock;

/// How much longer than its tools a child that is disposed of has to end by itself.
const WIND_DOWN: Duration = Duration::from_millis(500);

/// The run of an in-process child. `S` says whether it can be steered.
///
/// Dropping it ends the child's task at its next `await`, its tools with it.
pub struct AgentRun<S = Present> {
    agent_id: AgentId,
    session: Session,
    carried: ContentKinds,
    /// Where the usage of the parent is added up.
    above: Option<UsageLedger>,
    /// Where the parent's signs of life are kept.
    activity_above: Option<Activity>,
    /// How long the task has to end by itself.
    grace: Duration,
    seat: Seat,
    /// `None` once the child is disposed of.
    turn: Mutex<Option<Turn>>,
    /// Keeps the child on its provider's list.
    _listed: Listed,
    steering: PhantomData<fn() -> S>,
}

impl<S> AgentRun<S> {
    pub(crate) fn begin(
        child: Child,
        settings: &Settings,
        request: &StartRequest,
        settlement: Settlement,
    ) -> Self {
        let Child { agent, notice } = child;
        let above = request.parent().and_then(Parent::usage).cloned();
        let session = agent.session().clone();
        let run = Self {
            agent_id: agent.id().clone(),
            _listed: settings.children.list(&session),
            session,
            carried: agent.model().content_kinds(),
            above,
            activity_above: request.parent().and_then(Parent::activity).cloned(),
            grace: settings.limits.cancel_grace.saturating_add(WIND_DOWN),
            seat: Seat::new(agent),
            turn: Mutex::new(None),
            steering: PhantomData,
        };
        if let Some(worker) = run.seat.try_take() {
            run.begin_turn(worker, notice, request.prompt().to_vec(), settlement);
        }
        run
    }

    /// The child's session, for reading: it grows while the child works.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The id of the child's agent.
    #[must_use]
    pub fn agent_id(&self) -> &AgentId {
        &self.agent_id
    }

    fn begin_turn(
        &self,
        worker: Worker,
        notice: Option<&str>,
        prompt: Vec<ContentBlock>,
        settlement: Settlement,
    ) {
        let usage = self.above.as_ref().map_or_else(UsageLedger::new, UsageLedger::child_of);
        let mut options = TurnOptions::new().usage(usage).activity_above(self.activity_above.clone());
        if let Some(notice) = notice {
            options = options.notice(notice);
        }
        let turn = Turn::begin(worker, prompt, options, settlement);
        let before = lock(&self.turn).replace(turn);
        drop(before);
    }
}

impl<S: Presence> Run for AgentRun<S> {
    type Steer = S;

    crate::resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        let turn = lock(&self.turn).take();
        if let Some(mut turn) = turn {
            turn.stop.cancel();
            if tokio::time::timeout(self.grace, &mut turn.task).await.is_err() {
                turn.task.abort();
                // Whether it panicked is in the run's result already.
                (&mut turn.task).await.ok();
            }
        }
        Ok(())
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, _proof: S) -> Result<(), SteerError> {
        if let Some((index, kind)) = first_uncarried(&content, self.carried) {
            return Err(SteerError::UnsupportedContent { kind, index, carried: self.carried });
        }
        let inbox = lock(&self.turn).as_ref().map(|turn| turn.inbox.clone());
        let Some(inbox) = inbox else { return Err(SteerError::Settled) };
        inbox.send(content).map_err(|_closed| SteerError::Settled)
    }
}

#[diagnostic::do_not_recommend]
impl Steerable for AgentRun {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.steer_with(content, Present).await
    }
}

#[diagnostic::do_not_recommend]
impl<S: Presence> Resumable for AgentRun<S> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        if let Some((index, kind)) = first_uncarried(&content, self.carried) {
            return Err(ResumeError::UnsupportedContent { kind, index, carried: self.carried });
        }
        let worker = self.seat.take().await;
        self.begin_turn(worker, None, content, settlement);
        Ok(())
    }
}

impl<S> fmt::Debug for AgentRun<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentRun")
            .field("agent", &self.agent_id)
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}
