use std::fmt;
use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::ToolSet;
use crate::agent::activity::Activity;
use crate::agent::ledger::UsageLedger;
use crate::agent::model::Model;
use crate::agent::session::Session;
use crate::delegation::Shared;
use crate::id::AgentId;

/// What a tool call knows of where it runs; cheap to clone.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// Fires when the call is not wanted any more: the agent was cancelled or the call's deadline passed.
    pub cancellation: CancellationToken,
    /// The call's id: unique within its run, stable if the step is run again.
    pub call_id: Arc<str>,
    /// The agent that calls.
    pub agent: CallingAgent,
    pub(crate) activity: Activity,
}

impl ToolContext {
    /// Tells that the call is making progress, so that the agent's idle limit begins anew.
    pub fn report_activity(&self) {
        self.activity.touch();
    }
}

/// An agent as those see it to whom it delegates; cheap to clone.
#[derive(Clone)]
#[non_exhaustive]
pub struct CallingAgent {
    /// The agent's id.
    pub id: AgentId,
    /// Its session, for reading.
    pub session: Session,
    /// The model that it runs on.
    pub model: Arc<dyn Model>,
    /// Whether that is a model: an agent in another program has one that nobody here can ask.
    pub(crate) has_model: bool,
    /// Its system prompt.
    pub system_prompt: Option<Arc<str>>,
    /// The tools that it may call itself, and so the most that it may pass on.
    pub tools: ToolSet,
    /// What it used; a child's usage is reported here.
    pub usage: UsageLedger,
    /// Fires when the agent is cancelled.
    pub cancellation: CancellationToken,
    pub(crate) delegations: Arc<Shared>,
}

impl CallingAgent {
    /// How many agents are above this one.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.session.header().depth
    }

    /// The depth that no descendant may exceed.
    #[must_use]
    pub fn max_depth(&self) -> Option<u32> {
        self.session.header().max_depth
    }

    /// Where the agent works.
    #[must_use]
    pub fn working_dir(&self) -> Option<&Path> {
        self.session.header().working_dir.as_deref()
    }

    /// The model that its in-process children run on where they are given no other.
    pub(crate) fn inherited_model(&self) -> Option<&Arc<dyn Model>> {
        self.has_model.then_some(&self.model)
    }
}

impl fmt::Debug for CallingAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallingAgent")
            .field("id", &self.id)
            .field("session", &self.session.header().id)
            .field("depth", &self.depth())
            .field("model", &self.model.name())
            .finish_non_exhaustive()
    }
}
