//! Fresh children in the same program.

use std::fmt;
use std::marker::PhantomData;

use crate::agent::{Model, Session};
use crate::capability::{
    DepthLimit, ModelChoice, OutputSchema, OutputTokenLimit, Persona, StepLimit, ToolFilter,
};
use crate::content::ContentKinds;
use crate::error::StartError;
use crate::in_process::{AgentRun, Inherited, Settings, builder_methods};
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::run::{Presence, Present, Settlement};

/// Starts fresh children: each has a session of its own that begins with its prompt, and knows nothing of its
/// parent's conversation.
///
/// A child inherits its parent's working directory; its model, unless the request chooses one; the parent's tools,
/// unless the provider has [its own](SpawnBuilder::tools); and every limit that binds the parent. Where neither
/// parent, request nor provider names a model, the start fails: none is made up.
///
/// `S` says whether its runs can be steered.
///
/// ```
/// use subagent::testing::{ScriptedModel, ScriptedReply};
/// use subagent::{Request, Spawn, Subagents};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let model = ScriptedModel::new().reply(ScriptedReply::new().text("Four."));
/// let subagents = Subagents::new();
/// let spawn = subagents.register("spawn", Spawn::new(model))?;
///
/// let request = Request::new("What is two and two?").persona("You answer in one word.").max_depth(2);
/// let result = spawn.start(request).await?.collect().await.into_result()?;
/// assert_eq!(result.text(), "Four.");
/// # Ok(()) }
/// ```
pub struct Spawn<S = Present> {
    settings: Settings,
    steering: PhantomData<fn() -> S>,
}

crate::supports!([S: Presence] Spawn<S>:
    OutputSchema, DepthLimit, ToolFilter, Persona, ModelChoice, OutputTokenLimit, StepLimit);

impl Spawn {
    /// Children that run on this model where neither request nor parent names one.
    pub fn new(model: impl Model) -> Self {
        Self::builder().default_model(model).build()
    }

    /// Sets up a `Spawn`.
    pub fn builder() -> SpawnBuilder {
        SpawnBuilder { settings: Settings::default(), steering: PhantomData }
    }
}

impl<S> Spawn<S> {
    /// The sessions of the children that are not disposed of yet, in the order in which they were started.
    #[must_use]
    pub fn sessions(&self) -> Vec<Session> {
        self.settings.children.sessions()
    }
}

impl<S: Presence> Provider for Spawn<S> {
    type Run = AgentRun<S>;

    async fn start(
        &self,
        mut request: StartRequest,
        settlement: Settlement,
    ) -> Result<AgentRun<S>, StartError> {
        let child = self.settings.child(&mut request, Inherited::default())?;
        Ok(AgentRun::begin(child, &self.settings, &request, settlement))
    }

    /// Every kind: what a child's own model cannot read is refused when it is chosen.
    fn content(&self) -> ContentKinds {
        ContentKinds::ALL
    }
}

impl<S> fmt::Debug for Spawn<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spawn").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// A [`Spawn`] in the making.
#[must_use = "a provider is made by `build`"]
pub struct SpawnBuilder<S = Present> {
    settings: Settings,
    steering: PhantomData<fn() -> S>,
}

builder_methods!(SpawnBuilder, Spawn);
