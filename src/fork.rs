//! Children in the same program that begin with their parent's conversation.

use std::fmt;
use std::marker::PhantomData;

use crate::agent::{Model, Session};
use crate::capability::{
    DepthLimit, ModelChoice, OutputSchema, OutputTokenLimit, Persona, StepLimit, ToolFilter,
};
use crate::content::ContentKinds;
use crate::error::StartError;
use crate::in_process::{AgentRun, ChildSetupError, Inherited, Settings, builder_methods};
use crate::parent::Parent;
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::run::{Presence, Present, Settlement};

/// Starts children that begin with their parent's completed turns: everything up to and including its last turn
/// end. The turn in flight, which holds the delegating tool call, is left out.
///
/// The parent's log is shared, not copied: a fork costs the same whatever its length. The child writes to a session
/// of its own; its result, usage and time come from its own part. A note between the two tells the model where its
/// own task begins.
///
/// So that a model's cache can be used, a child also has its parent's system prompt, tools and model, unless the
/// request or the provider says otherwise. What limits the parent binds the child, as with
/// [`Spawn`](crate::Spawn). A parent without a log is refused: make it from the calling agent
/// (`Parent::from(&context)`), or give it one with [`Parent::with_log`](crate::Parent::with_log).
///
/// `S` says whether its runs can be steered.
///
/// ```
/// use std::sync::Arc;
///
/// use subagent::agent::{Agent, TurnOptions, UsageLedger};
/// use subagent::testing::{ScriptedModel, ScriptedReply};
/// use subagent::{Fork, Parent, Request, Subagents};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new()
///     .reply(ScriptedReply::new().text("I have read all of it."))
///     .reply(ScriptedReply::new().text("It is about forks."));
/// let mut agent = Agent::builder(Arc::new(model.clone())).build();
/// agent.run_turn(vec!["Read the manual".into()], TurnOptions::new()).await;
/// let parent = Parent::from(&agent.as_caller(Default::default(), UsageLedger::new()));
///
/// let subagents = Subagents::new();
/// let fork = subagents.register("fork", Fork::new())?;
/// let run = fork.start(Request::new("What is it about?").parent(&parent)).await?;
/// assert_eq!(run.collect().await.into_result()?.text(), "It is about forks.");
/// assert_eq!(model.requests()[1].messages().len(), 4); // the parent's two, the note, the child's own
/// # Ok(()) }
/// ```
pub struct Fork<S = Present> {
    settings: Settings,
    steering: PhantomData<fn() -> S>,
}

crate::supports!([S: Presence] Fork<S>:
    OutputSchema, DepthLimit, ToolFilter, Persona, ModelChoice, OutputTokenLimit, StepLimit);

impl Fork {
    /// Children that run on their parent's model.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// Sets up a `Fork`.
    pub fn builder() -> ForkBuilder {
        ForkBuilder { settings: Settings::default(), steering: PhantomData }
    }
}

impl Default for Fork {
    fn default() -> Self {
        Self::new()
    }
}

impl<S> Fork<S> {
    /// The sessions of the children that are not disposed of yet, in the order in which they were started.
    #[must_use]
    pub fn sessions(&self) -> Vec<Session> {
        self.settings.children.sessions()
    }
}

impl<S: Presence> Provider for Fork<S> {
    type Run = AgentRun<S>;

    async fn start(
        &self,
        mut request: StartRequest,
        settlement: Settlement,
    ) -> Result<AgentRun<S>, StartError> {
        let parent = request.parent();
        let log = parent.and_then(Parent::log).ok_or_else(|| StartError::failed(ChildSetupError::NoLog))?;
        let seed = log.completed_turns().map_err(StartError::failed)?;
        let system_prompt = parent.and_then(Parent::agent).and_then(|agent| agent.system_prompt.clone());
        let child = self.settings.child(&mut request, Inherited { seed, system_prompt })?;
        Ok(AgentRun::begin(child, &self.settings, &request, settlement))
    }

    /// Every kind: what a child's own model cannot read is refused when it is chosen.
    fn content(&self) -> ContentKinds {
        ContentKinds::ALL
    }

    fn sees_conversation(&self) -> bool {
        true
    }
}

impl<S> fmt::Debug for Fork<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fork").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// A [`Fork`] in the making.
#[must_use = "a provider is made by `build`"]
pub struct ForkBuilder<S = Present> {
    settings: Settings,
    steering: PhantomData<fn() -> S>,
}

builder_methods!(ForkBuilder, Fork);
