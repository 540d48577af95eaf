//! What a caller asks for, and what a provider receives of it.

mod json;
mod start_request;
mod values;

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use json::MismatchedCapabilities;
pub use start_request::StartRequest;
pub(crate) use values::Values;

#[doc(inline)]
pub use crate::parent::ParentLog;

use crate::capability::{
    Capability, CapabilitySet, DepthLimit, ModelChoice, NoOutputYet, NoPersonaYet, OutputSchema,
    OutputTokenLimit, Persona, Plain, Schema, StepLimit, ToolFilter, Unchecked, assert_namespaced,
};
use crate::content::ContentBlock;
use crate::id::RunId;
use crate::parent::Parent;

/// What a caller asks of a child. `Caps` lists the start-time capabilities that it needs: a request that asks for
/// one does not start on a provider that lacks it.
///
/// ```
/// use subagent::{Parent, Request, ToolFilter};
///
/// let parent = Parent::new("agent-1", "session-1");
/// let request = Request::new("Find the slowest test and say why it is slow")
///     .parent(&parent)
///     .agent_type("profiler")
///     .max_depth(2)
///     .tool_filter(ToolFilter::allow(["read", "run"]));
/// ```
#[must_use = "a request does nothing until it is started"]
pub struct Request<Caps = ()> {
    pub(crate) body: RequestBody,
    capabilities: PhantomData<fn() -> Caps>,
}

/// The parts of a request that do not depend on its type.
#[derive(Clone, Default)]
pub(crate) struct RequestBody {
    pub(crate) prompt: Vec<ContentBlock>,
    pub(crate) agent_type: Option<Arc<str>>,
    pub(crate) parent: Option<Parent>,
    pub(crate) run_id: Option<RunId>,
    pub(crate) idempotency_key: Option<Arc<str>>,
    pub(crate) time_limit: Option<Duration>,
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) values: Values,
}

impl Request {
    /// A request with this prompt: text, one content block, or several. One that holds nothing but blank text is
    /// refused when it is started.
    pub fn new(prompt: impl Into<Prompt>) -> Self {
        Self::from_body(RequestBody { prompt: prompt.into().0, ..RequestBody::default() })
    }
}

impl<Caps: CapabilitySet> Request<Caps> {
    /// Says who delegates. Without a parent the child works for a top-level agent that the seam knows nothing of.
    pub fn parent(mut self, parent: &Parent) -> Self {
        self.body.parent = Some(parent.clone());
        self
    }

    /// Names the kind of agent; both lifecycle events carry it.
    pub fn agent_type(mut self, agent_type: impl Into<Arc<str>>) -> Self {
        self.body.agent_type = Some(agent_type.into());
        self
    }

    /// Chooses the run's id, which must be that of no other run; otherwise a new one is made.
    pub fn run_id(mut self, id: RunId) -> Self {
        self.body.run_id = Some(id);
        self
    }

    /// Marks requests that are one and the same work, for providers that can tell a repetition.
    pub fn idempotency_key(mut self, key: impl Into<Arc<str>>) -> Self {
        self.body.idempotency_key = Some(key.into());
        self
    }

    /// Bounds the run in time, its start included. A run that takes longer is cancelled and ends with
    /// [`StopReason::TimeLimit`](crate::StopReason::TimeLimit) and what it has. On a Tokio runtime without a timer the
    /// start is refused.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.body.time_limit = Some(limit);
        self
    }

    /// Cancels the run when this token is cancelled, beside the parent's token. A token that is cancelled already
    /// never starts a child.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.body.cancellation = Some(token);
        self
    }

    /// Asks for the start-time capability `C`. Asked for twice, the two values narrow each other.
    pub fn with<C: Capability<Kind = Plain>>(self, value: C::Value) -> Request<Caps::With<C>> {
        const { assert_namespaced::<C>() }
        self.ask::<C>(value)
    }

    /// Asks for [`DepthLimit`]: neither the child nor any descendant of it may be deeper than `depth`.
    pub fn max_depth(self, depth: u32) -> Request<Caps::With<DepthLimit>> {
        self.ask::<DepthLimit>(depth)
    }

    /// Asks for a [`ToolFilter`]: the child and its descendants see and use only what it permits.
    pub fn tool_filter(self, filter: ToolFilter) -> Request<Caps::With<ToolFilter>> {
        self.ask::<ToolFilter>(filter)
    }

    /// Asks for [`ModelChoice`]: the child uses this model instead of its parent's.
    pub fn model(self, name: impl Into<String>) -> Request<Caps::With<ModelChoice>> {
        self.ask::<ModelChoice>(name.into())
    }

    /// Asks for an [`OutputTokenLimit`]: how many tokens one answer of the child's model may have.
    pub fn max_output_tokens(self, tokens: NonZeroU32) -> Request<Caps::With<OutputTokenLimit>> {
        self.ask::<OutputTokenLimit>(tokens)
    }

    /// Asks for a [`StepLimit`]: how many steps a turn of the child may take.
    pub fn max_steps(self, steps: NonZeroU32) -> Request<Caps::With<StepLimit>> {
        self.ask::<StepLimit>(steps)
    }

    /// Asks for a [`Persona`]: the child's system prompt, for this run alone.
    pub fn persona(self, text: impl Into<String>) -> Request<Caps::With<Persona>>
    where
        Caps::Persona: NoPersonaYet,
    {
        self.ask_once::<Persona>(text.into())
    }

    /// Asks for structured output of type `T`; [`Settled::structured`](crate::Settled::structured) returns it.
    ///
    /// How the child delivers it is its provider's matter. The model of a [`Spawn`](crate::Spawn) or
    /// [`Fork`](crate::Fork) child calls a tool named `deliver_result`, unless it has a response format of its own.
    #[cfg(feature = "typed-output")]
    pub fn output<T>(self) -> Request<Caps::With<OutputSchema<T>>>
    where
        T: schemars::JsonSchema + serde::de::DeserializeOwned + 'static,
        Caps::AskedOutput: NoOutputYet,
    {
        self.ask_once::<OutputSchema<T>>(Schema::of::<T>())
    }

    /// Asks for structured output that fits a schema known at run time only; the value is a
    /// [`serde_json::Value`].
    pub fn output_schema(self, schema: Schema) -> Request<Caps::With<OutputSchema<serde_json::Value>>>
    where
        Caps::AskedOutput: NoOutputYet,
    {
        self.ask_once::<OutputSchema<serde_json::Value>>(schema)
    }

    /// Gives up what the compiler knows of the capabilities: from here on they are checked when the request is
    /// started by name. For requests whose capabilities depend on configuration:
    ///
    /// ```
    /// # use subagent::Request;
    /// # let configured: Option<u32> = Some(3);
    /// let mut request = Request::new("Tidy up the imports").erase();
    /// if let Some(depth) = configured {
    ///     request = request.max_depth(depth);
    /// }
    /// ```
    pub fn erase(self) -> Request<Unchecked> {
        Request::from_body(self.body)
    }

    /// The names of the capabilities asked for, in the order in which they were asked for.
    pub fn capabilities(&self) -> impl Iterator<Item = &str> {
        self.body.values.names()
    }

    fn ask<C: Capability>(mut self, value: C::Value) -> Request<Caps::With<C>> {
        self.body.values.ask::<C>(value);
        Request::from_body(self.body)
    }

    fn ask_once<C: Capability>(mut self, value: C::Value) -> Request<Caps::With<C>> {
        self.body.values.ask_once::<C>(value);
        Request::from_body(self.body)
    }
}

impl<Caps> Request<Caps> {
    pub(crate) fn from_body(body: RequestBody) -> Self {
        Self { body, capabilities: PhantomData }
    }
}

impl<Caps> Clone for Request<Caps> {
    fn clone(&self) -> Self {
        Self::from_body(self.body.clone())
    }
}

impl<Caps> fmt::Debug for Request<Caps> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("prompt", &self.body.prompt)
            .field("agent_type", &self.body.agent_type)
            .field("parent", &self.body.parent)
            .field("run_id", &self.body.run_id)
            .field("time_limit", &self.body.time_limit)
            .field("capabilities", &self.body.values)
            .finish_non_exhaustive()
    }
}

/// A prompt or a message: content blocks. Made from text, a block, or a list of blocks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt(pub(crate) Vec<ContentBlock>);

impl From<&str> for Prompt {
    fn from(text: &str) -> Self {
        Self(vec![text.into()])
    }
}

impl From<String> for Prompt {
    fn from(text: String) -> Self {
        Self(vec![text.into()])
    }
}

impl From<ContentBlock> for Prompt {
    fn from(block: ContentBlock) -> Self {
        Self(vec![block])
    }
}

impl From<Vec<ContentBlock>> for Prompt {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        Self(blocks)
    }
}
