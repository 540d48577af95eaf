//! Lifecycle events: what listeners are told.

use std::sync::Arc;

use serde::Serialize;

#[doc(inline)]
pub use crate::update::Update;

use crate::content::Output;
use crate::id::{AgentId, RunId, SessionId};
use crate::stop_reason::StopReason;
use crate::usage::Usage;

/// Something that happened. Listeners get it by reference: they observe, and change nothing.
///
/// Every published run has one [`Started`](Self::Started) and one [`Ended`](Self::Ended), in this order, with the
/// same id. `Ended` reaches the listeners before anyone who awaits the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A run was published: a child exists.
    Started(RunStarted),
    /// A run settled.
    Ended(RunEnded),
    /// A provider was registered.
    ProviderAdded {
        /// Its name.
        provider: Arc<str>,
    },
    /// A provider is no longer registered.
    ProviderRemoved {
        /// Its name.
        provider: Arc<str>,
    },
}

/// A run was published: a child exists.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunStarted {
    /// Which run.
    #[serde(flatten)]
    pub run: RunInfo,
}

/// A run settled.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunEnded {
    /// Which run.
    #[serde(flatten)]
    pub run: RunInfo,
    /// Why it stopped; [`StopReason::Error`] also when it has no result.
    pub stop_reason: StopReason,
    /// The child's last message, fixed as it was; absent where there is none, where it could not be read, and where
    /// the run has no result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// What went wrong, safe to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnostic: Option<String>,
    /// What the run used.
    #[serde(skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
}

/// Which run an event speaks of.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RunInfo {
    /// The run's id, unique and never reused.
    pub run_id: RunId,
    /// The name of its provider.
    pub provider: Arc<str>,
    /// The kind of agent, as the request names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<Arc<str>>,
    /// The agent that delegated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_agent_id: Option<AgentId>,
    /// The session of the agent that delegated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<SessionId>,
    /// The child's depth; that of a top-level agent is 0.
    pub depth: u32,
    /// The run that this one follows up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed_from: Option<RunId>,
}

impl RunInfo {
    /// The run that this one was started in, where the agent that delegated says so by its id: an in-process child,
    /// one of `acp::Acp` that calls tools of this program, and every
    /// [`StartRequest::as_parent`](crate::StartRequest::as_parent). Such an id stays the same when the run is resumed:
    /// it is the first one's.
    #[must_use]
    pub fn parent_run(&self) -> Option<RunId> {
        self.parent_agent_id.as_ref()?.as_str().parse().ok()
    }
}
