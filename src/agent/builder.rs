use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::agent_loop;
use super::capture::CaptureTool;
use super::ledger::UsageLedger;
use super::limits::Limits;
use super::model::Model;
use super::outcome::TurnOutcome;
use super::session::{Session, SessionHeader, SessionWriter};
use super::tool::{CallingAgent, ToolSet};
use super::turn_options::TurnOptions;
use crate::capture::OutputContract;
use crate::content::ContentBlock;
use crate::delegation::Delegations;
use crate::id::{AgentId, SessionId};

/// An agent: a model with tools, over a session that it owns.
pub struct Agent {
    pub(super) id: AgentId,
    pub(super) session: SessionWriter,
    pub(super) model: Arc<dyn Model>,
    pub(super) system_prompt: Option<Arc<str>>,
    pub(super) tools: ToolSet,
    pub(super) limits: Limits,
    pub(super) output: Option<OutputContract>,
    /// What a model without a response format delivers with.
    pub(super) capture: Option<CaptureTool>,
    /// Stopped with the agent.
    pub(super) delegations: Delegations,
}

impl Agent {
    /// Begins an agent on this model.
    pub fn builder(model: Arc<dyn Model>) -> AgentBuilder {
        AgentBuilder {
            id: None,
            session: None,
            model,
            system_prompt: None,
            tools: ToolSet::new(),
            limits: Limits::default(),
            output: None,
        }
    }

    /// The agent's id.
    #[must_use]
    pub fn id(&self) -> &AgentId {
        &self.id
    }

    /// The model that the agent runs on.
    #[must_use]
    pub fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    /// The agent's session, for reading.
    #[must_use]
    pub fn session(&self) -> &Session {
        self.session.session()
    }

    /// The agent's session, to append metadata between turns.
    pub fn session_mut(&mut self) -> &mut SessionWriter {
        &mut self.session
    }

    /// The agent as those see it to whom it delegates, outside of a turn. Inside, a tool finds it in its context.
    #[must_use]
    pub fn as_caller(&self, cancellation: CancellationToken, usage: UsageLedger) -> CallingAgent {
        CallingAgent {
            id: self.id.clone(),
            session: self.session().clone(),
            model: Arc::clone(&self.model),
            has_model: true,
            system_prompt: self.system_prompt.clone(),
            tools: self.tools.clone(),
            usage,
            cancellation,
            delegations: Arc::clone(self.delegations.shared()),
        }
    }

    /// What the agent has delegated in the background. It ends with the agent.
    pub fn delegations(&self) -> &Delegations {
        &self.delegations
    }

    /// Runs one turn: from a prompt to the model's last word. It does not fail; what goes wrong is a stop reason.
    ///
    /// A cancelled turn is `Aborted`, whatever it had reached when the token fired; one that is cancelled before
    /// it begins leaves no trace in the log.
    ///
    /// A model that is done while background children of its agent work, or have an outcome to deliver, is not done:
    /// the turn waits for them and goes on with what they bring. A turn that ends otherwise leaves them at work; the
    /// next one begins with what they have brought by then.
    ///
    /// # Cancel safety
    ///
    /// When the future is dropped, what runs is dropped with it and the log keeps what had happened. The next turn
    /// closes what was left open. Messages that are still in the inbox stay there.
    pub async fn run_turn(&mut self, prompt: Vec<ContentBlock>, options: TurnOptions) -> TurnOutcome {
        agent_loop::run(self, prompt, options).await
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("id", &self.id)
            .field("session", self.session())
            .field("model", &self.model.name())
            .field("tools", &self.tools)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// An agent in the making.
#[must_use = "an agent is made by `build`"]
pub struct AgentBuilder {
    id: Option<AgentId>,
    session: Option<SessionWriter>,
    model: Arc<dyn Model>,
    system_prompt: Option<Arc<str>>,
    tools: ToolSet,
    limits: Limits,
    output: Option<OutputContract>,
}

impl AgentBuilder {
    /// The agent's id; a new one by default.
    pub fn id(mut self, id: AgentId) -> Self {
        self.id = Some(id);
        self
    }

    /// The session that the agent goes on with; by default a new top-level one. Its header says where the agent
    /// works, and so do the children of the agent that are told nothing else; the default's says nothing of it:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use subagent::SessionId;
    /// use subagent::agent::{Agent, SessionHeader, SessionWriter};
    /// # let model = Arc::new(subagent::testing::ScriptedModel::new());
    ///
    /// let header = SessionHeader::new(SessionId::new()).with_working_dir("/work/project");
    /// let agent = Agent::builder(model).session(SessionWriter::new(header)).build();
    /// # let directory = agent.session().header().working_dir.as_deref();
    /// # assert_eq!(directory, Some(std::path::Path::new("/work/project")));
    /// ```
    pub fn session(mut self, session: SessionWriter) -> Self {
        self.session = Some(session);
        self
    }

    /// The system prompt; none by default.
    pub fn system_prompt(mut self, prompt: impl Into<Arc<str>>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// The tools that the model may call; none by default.
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.tools = tools;
        self
    }

    /// What bounds the agent's turns.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// What each turn has to deliver beside what it says; nothing by default.
    pub fn output(mut self, contract: OutputContract) -> Self {
        self.output = Some(contract);
        self
    }

    /// Makes the agent. The limits in the session's header bind it: tools that its filter does not permit are left
    /// out, and the smaller limit stands.
    #[must_use]
    pub fn build(self) -> Agent {
        let session = self.session.unwrap_or_else(|| {
            let mut header = SessionHeader::new(SessionId::new());
            header.model = Some(self.model.name().into());
            SessionWriter::new(header)
        });
        let header = session.session().header();
        let tools = match &header.tool_filter {
            Some(filter) => self.tools.only(|name| filter.permits(name)),
            None => self.tools,
        };
        let mut limits = self.limits;
        limits.steps = limits.steps.into_iter().chain(header.max_steps).min();
        limits.output_tokens = limits.output_tokens.into_iter().chain(header.max_output_tokens).min();
        let by_tool = self.output.as_ref().filter(|_| !self.model.has_response_format());
        let capture = by_tool.map(|contract| CaptureTool::beside(&tools, contract));
        Agent {
            id: self.id.unwrap_or_else(AgentId::new),
            session,
            model: self.model,
            system_prompt: self.system_prompt,
            tools,
            limits,
            output: self.output,
            capture,
            delegations: Delegations::new(),
        }
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder").field("model", &self.model.name()).finish_non_exhaustive()
    }
}
