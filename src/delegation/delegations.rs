use std::fmt;
use std::sync::{Arc, Weak};

use tokio::time::Instant;

use super::child::{Child, ChildState};
use super::report::Ending;
use super::shared::Shared;
use super::toolset::DEFAULT_RESULT_BYTES;
use crate::content::ContentBlock;
use crate::error::listed;
use crate::id::RunId;
use crate::run::Settled;

/// What one agent has delegated in the background: its children that work, and outcomes that it was not told yet.
///
/// It belongs to the agent: the built-in [`Agent`](crate::agent::Agent) has one. Another agent loop makes one for each
/// agent, gives it to [`CallContext`](super::CallContext), and tells the model what
/// [`take_notices`](Self::take_notices) gives. Whoever holds it has authority over the children; an id alone gives none.
///
/// Dropping it stops the children and has them disposed of in the background; [`close`](Self::close) waits for that.
#[must_use = "dropping `Delegations` stops the children; `close` it to wait for that"]
pub struct Delegations(Arc<Shared>);

impl Delegations {
    /// For an agent that has delegated nothing yet.
    pub fn new() -> Self {
        Self(Arc::new(Shared::default()))
    }

    /// The children, in the order in which they were started: all that work, all whose outcome was not delivered, and
    /// those of the rest that are still known.
    #[must_use]
    pub fn list(&self) -> Vec<DelegatedChild> {
        self.0.children().iter().map(|child| DelegatedChild::of(child)).collect()
    }

    /// Whether no child works and every outcome was delivered.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.0.is_settled()
    }

    /// What the agent's model has to be told now: each outcome that it was not told yet, once, in the order in which
    /// the children settled.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Vec<ContentBlock>> {
        notices(&self.0)
    }

    /// Waits until there is a notice, `true`, or no child works any more, `false`.
    ///
    /// # Cancel safety
    ///
    /// Cancel-safe: nothing is taken.
    pub async fn wait(&self) -> bool {
        wait_for_notice(&self.0).await
    }

    /// Stops a child. Its outcome is delivered as any other's. Returns whether one of that id was at work.
    #[expect(clippy::must_use_candidate, reason = "who stops a child need not care whether it was at work")]
    pub fn cancel(&self, id: RunId, reason: &str) -> bool {
        let child = self.0.children().into_iter().find(|child| child.whom.id == id && child.is_running());
        if let Some(child) = &child {
            child.stop.ask(reason);
        }
        child.is_some()
    }

    /// Stops all children that are at work, and returns their ids. Their outcomes are delivered as any other's.
    #[expect(clippy::must_use_candidate, reason = "who stops all children need not care which there were")]
    pub fn cancel_all(&self, reason: &str) -> Vec<RunId> {
        cancel_all(&self.0, reason)
    }

    /// Gives a child to another owner, which is told its outcome from now on.
    ///
    /// # Errors
    ///
    /// [`DetachError`] when there is no such child, or the new owner takes no more.
    pub fn detach(&self, id: RunId, to: NewOwner<'_>) -> Result<(), DetachError> {
        let child = self.0.remove(id).ok_or_else(|| DetachError::UnknownChild {
            id,
            known: self.0.children().iter().map(|child| child.whom.id).collect(),
        })?;
        let detached = match to {
            NewOwner::Agent(owner) => owner.0.adopt(child).map_err(|child| {
                self.0.adopt(child).ok();
                DetachError::OwnerClosed { id }
            }),
            NewOwner::Subagents => {
                child.set_owner(Weak::new());
                let kept = child.close();
                drop(kept.map(Settled::dispose));
                Ok(())
            }
        };
        // Who waits may have waited for this child alone.
        self.0.tell();
        detached
    }

    /// Stops all children, takes no more, and returns when nothing of them is left.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the children are stopped all the same; what is left goes on in the background.
    pub async fn close(&self) {
        close(&self.0).await;
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.0
    }
}

impl Default for Delegations {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Delegations {
    fn drop(&mut self) {
        for child in self.0.close("its parent is gone") {
            // Disposed of in the background.
            drop(child.close().map(Settled::dispose));
        }
    }
}

impl fmt::Debug for Delegations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Delegations").field(&self.list()).finish()
    }
}

/// Who owns a child from now on.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum NewOwner<'a> {
    /// The `Subagents` that the child runs on, until its shutdown. Nobody is told the outcome but its listeners.
    Subagents,
    /// Another agent.
    Agent(&'a Delegations),
}

/// A child was not given to another owner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DetachError {
    /// There is no such child.
    #[error("there is no child {id} here; the children are: {}", listed(known))]
    UnknownChild {
        /// The id.
        id: RunId,
        /// The children that there are.
        known: Vec<RunId>,
    },
    /// The new owner takes no more children.
    #[error("the new owner has closed its delegations and cannot take child {id}; name one that lives")]
    OwnerClosed {
        /// The child, which stays where it was.
        id: RunId,
    },
}

impl DetachError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownChild { .. } => "UNKNOWN_CHILD",
            Self::OwnerClosed { .. } => "OWNER_CLOSED",
        }
    }
}

/// A background child, as it is now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DelegatedChild {
    /// The id of its run.
    pub id: RunId,
    /// The name of its provider.
    pub provider: String,
    /// The kind of agent.
    pub agent_type: Option<String>,
    /// What the parent's model calls its task.
    pub description: String,
    /// What it is doing.
    pub state: ChildState,
    /// When it last reported something.
    pub last_activity: Option<Instant>,
    /// Whether it can be followed up now.
    pub can_follow_up: bool,
}

impl DelegatedChild {
    pub(super) fn of(child: &Child) -> Self {
        Self {
            id: child.whom.id,
            provider: child.whom.provider.clone(),
            agent_type: child.whom.agent_type.clone(),
            description: child.description.to_string(),
            state: child.state(),
            last_activity: child.control().and_then(|control| control.last_activity()),
            can_follow_up: child.is_kept(),
        }
    }
}

/// What the built-in agent's loop does with its delegations.
impl Shared {
    /// A new turn begins: what the log did not get is told again.
    pub(crate) fn begin_turn(&self) {
        self.reclaim();
    }

    /// What is to be told at a step's boundary; the results of the step before are in the log.
    pub(crate) fn at_step_boundary(&self) -> Vec<Vec<ContentBlock>> {
        self.confirm();
        notices(self)
    }

    /// The turn is over, and what was told in it is in the log.
    pub(crate) fn end_turn(&self) -> Vec<RunId> {
        self.confirm();
        let mut outstanding = self.children();
        outstanding.retain(|child| child.state() != ChildState::Delivered);
        outstanding.iter().map(|child| child.whom.id).collect()
    }

    pub(crate) fn has_notices(&self) -> bool {
        self.has_undelivered()
    }

    pub(crate) fn nothing_outstanding(&self) -> bool {
        self.is_settled()
    }

    /// When a child last reported something.
    pub(crate) fn last_activity(&self) -> Option<Instant> {
        self.children().iter().filter_map(|child| child.control()?.last_activity()).max()
    }
}

pub(crate) async fn wait_for_notice(shared: &Shared) -> bool {
    loop {
        let changed = shared.changed();
        if shared.has_undelivered() {
            return true;
        }
        if shared.is_settled() {
            return false;
        }
        changed.await;
    }
}

pub(crate) fn cancel_all(shared: &Shared, reason: &str) -> Vec<RunId> {
    let mut running = shared.children();
    running.retain(|child| child.is_running());
    for child in &running {
        child.stop.ask(reason);
    }
    running.iter().map(|child| child.whom.id).collect()
}

/// The run that the children work for has ended, and none outlives it: those at work are stopped, which is told in
/// the run's diagnostic. They are told of when the run is resumed.
pub(crate) async fn end_with_run(shared: &Shared, was_cancelled: bool, diagnostic: &mut Option<String>) {
    let left = if was_cancelled {
        cancel_all(shared, "its parent was cancelled")
    } else {
        settle_all(shared, "its parent has ended").await
    };
    if !left.is_empty() {
        let before = diagnostic.take().map(|before| format!("{before}; ")).unwrap_or_default();
        *diagnostic = Some(format!("{before}background agents were stopped with it: {}", listed(&left)));
    }
}

/// Stops all children that are at work, and waits until they have settled.
async fn settle_all(shared: &Shared, reason: &str) -> Vec<RunId> {
    let stopped = cancel_all(shared, reason);
    loop {
        let changed = shared.changed();
        if shared.children().iter().all(|child| !child.is_running()) {
            return stopped;
        }
        changed.await;
    }
}

pub(crate) async fn close(shared: &Shared) {
    let children = shared.close("its parent was disposed of");
    // All are told before any is waited for.
    let kept: Vec<_> = children.iter().filter_map(|child| child.close()).map(Settled::dispose).collect();
    for disposal in kept {
        if let Err(error) = disposal.await {
            tracing::error!(error = &error as &dyn std::error::Error, "a child was not disposed of");
        }
    }
    for child in children {
        child.gone.cancelled().await;
    }
}

fn notices(shared: &Shared) -> Vec<Vec<ContentBlock>> {
    let children = shared.children();
    let report = |ending: &Ending| ending.report(DEFAULT_RESULT_BYTES, Some(super::tools::READ_RESULT));
    shared
        .take(&children, false, usize::MAX, report)
        .into_iter()
        .map(|report| report.output.content)
        .collect()
}
