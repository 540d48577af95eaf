mod delegation;
mod log;

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub(crate) use delegation::smallest;
pub use log::ParentLog;

use self::log::Log;
use crate::agent::{Activity, CallingAgent, ToolSet, UsageLedger};
use crate::capability::ToolFilter;
use crate::id::{AgentId, SessionId};

/// Who delegates: the agent that a child works for. Cheap to clone.
///
/// A tool of the built-in agent that delegates makes it from its context: `Parent::from(&context)`. Then the child
/// gets all that it can inherit, and is cancelled with the call. `Parent::from(&context.agent)` does the same for a
/// child that outlives the call.
///
/// ```
/// use subagent::{Parent, Request};
///
/// let parent = Parent::new("agent-1", "session-1").with_working_dir("/srv/project").with_model("large-model");
/// let request = Request::new("List the tests that fail").parent(&parent);
/// ```
#[derive(Debug, Clone)]
pub struct Parent(Arc<Fields>);

#[derive(Debug, Clone)]
struct Fields {
    agent_id: AgentId,
    session_id: SessionId,
    depth: u32,
    max_depth: Option<u32>,
    working_dir: Option<PathBuf>,
    model: Option<Arc<str>>,
    cancellation: Option<CancellationToken>,
    tools: Option<ToolSet>,
    tool_filter: Option<ToolFilter>,
    max_steps: Option<NonZeroU32>,
    max_output_tokens: Option<NonZeroU32>,
    usage: Option<UsageLedger>,
    log: Option<Log>,
    /// Where signs of life of a child that the agent waits for are reported.
    activity: Option<Activity>,
    /// The agent itself, where it is one of the built-in kind.
    agent: Option<CallingAgent>,
}

impl Parent {
    /// A top-level agent: depth 0, no working directory, no model.
    pub fn new(agent_id: impl Into<AgentId>, session_id: impl Into<SessionId>) -> Self {
        Self(Arc::new(Fields {
            agent_id: agent_id.into(),
            session_id: session_id.into(),
            depth: 0,
            max_depth: None,
            working_dir: None,
            model: None,
            cancellation: None,
            tools: None,
            tool_filter: None,
            max_steps: None,
            max_output_tokens: None,
            usage: None,
            log: None,
            activity: None,
            agent: None,
        }))
    }

    /// Sets how many delegations lie above this agent; a top-level agent is at 0. It can only grow.
    #[must_use]
    pub fn with_depth(self, depth: u32) -> Self {
        self.change(|fields| fields.depth = fields.depth.max(depth))
    }

    /// Binds this agent's descendants: none may be deeper than `max_depth`. Called twice, the smaller stands.
    #[must_use]
    pub fn with_max_depth(self, max_depth: u32) -> Self {
        self.change(|fields| {
            fields.max_depth = Some(fields.max_depth.map_or(max_depth, |earlier| earlier.min(max_depth)));
        })
    }

    /// Sets the directory that this agent works in.
    #[must_use]
    pub fn with_working_dir(self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.change(|fields| fields.working_dir = Some(path))
    }

    /// Sets the model that this agent uses, by name.
    #[must_use]
    pub fn with_model(self, name: impl Into<Arc<str>>) -> Self {
        let name = name.into();
        self.change(|fields| fields.model = Some(name))
    }

    /// Links this agent's children to a token: when it is cancelled, so are they, and their descendants.
    #[must_use]
    pub fn with_cancellation(self, token: CancellationToken) -> Self {
        self.change(|fields| fields.cancellation = Some(token))
    }

    /// The agent's id.
    #[must_use]
    pub fn agent_id(&self) -> &AgentId {
        &self.0.agent_id
    }

    /// The id of the agent's session.
    #[must_use]
    pub fn session_id(&self) -> &SessionId {
        &self.0.session_id
    }

    /// How many delegations lie above this agent.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.0.depth
    }

    /// How deep this agent's descendants may be.
    #[must_use]
    pub fn max_depth(&self) -> Option<u32> {
        self.0.max_depth
    }

    /// The directory that the agent works in.
    #[must_use]
    pub fn working_dir(&self) -> Option<&Path> {
        self.0.working_dir.as_deref()
    }

    /// The model that the agent uses.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.0.model.as_deref()
    }

    /// The token that cancels the agent's children.
    #[must_use]
    pub fn cancellation(&self) -> Option<&CancellationToken> {
        self.0.cancellation.as_ref()
    }

    fn change(mut self, change: impl FnOnce(&mut Fields)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }
}
