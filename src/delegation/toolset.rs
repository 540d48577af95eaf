use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::builder::{ByProviderName, SubagentToolBuilder};
use super::context::CallContext;
use super::control::{MissingControl, TakesFollowUps, TakesMessages};
use super::subagent_tool::{Background, SubagentTool};
use super::tools::{
    FOLLOWUP_AGENT, FollowupAgent, InterruptAgent, ListAgents, ReadResult, SEND_MESSAGE, SendMessage,
    WaitAgent,
};
use crate::agent::{Tool, ToolContext, ToolDefinition, ToolOutput, ToolSet, ToolSetError};
use crate::provider::Provider;
use crate::registry::ProviderHandle;

/// How many bytes of a child's text a result shows by default.
pub(super) const DEFAULT_RESULT_BYTES: usize = 32 * 1024;
const DEFAULT_MOST: usize = 16;
const DEFAULT_LONGEST_WAIT: Duration = Duration::from_mins(10);

/// The tools with which a model delegates and controls what it delegated: `subagent` (with `run_in_background`),
/// `wait_agent`, `list_agents`, `interrupt_agent`, `read_result`, and where the provider can, `send_message` and
/// `followup_agent`. Cheap to clone.
#[derive(Debug, Clone)]
pub struct DelegationTools {
    tools: Vec<DelegationTool>,
}

impl DelegationTools {
    /// The tools, in the order in which a model should see them.
    #[must_use]
    pub fn tools(&self) -> &[DelegationTool] {
        &self.tools
    }

    /// The tool of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&DelegationTool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// These tools and those of another toolset, for another provider: give its `subagent` tool a name of its own.
    /// Controls that both have are there once, and reach the children of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let new: Vec<_> = other
            .tools
            .into_iter()
            .filter(|tool| !tool.is_control() || self.find(tool.name()).is_none())
            .collect();
        self.tools.extend(new);
        self
    }

    /// A built-in agent's tools and these.
    ///
    /// # Errors
    ///
    /// [`ToolSetError`] when a name is taken.
    pub fn add_to(&self, tools: &ToolSet) -> Result<ToolSet, ToolSetError> {
        self.tools.iter().try_fold(tools.clone(), |tools, tool| tools.with(tool.clone()))
    }
}

/// Sets up [`DelegationTools`]. `P` is the provider: a [`ProviderHandle`], or [`ByProviderName`].
#[must_use = "a toolset is made by `build`"]
pub struct DelegationToolsBuilder<P> {
    tool: SubagentToolBuilder<P>,
    most: usize,
    longest_wait: Duration,
    send_message: bool,
    followup_agent: bool,
}

impl<P> DelegationToolsBuilder<P> {
    pub(super) fn new(tool: SubagentToolBuilder<P>) -> Self {
        Self {
            tool,
            most: DEFAULT_MOST,
            longest_wait: DEFAULT_LONGEST_WAIT,
            send_message: false,
            followup_agent: false,
        }
    }

    /// How many background children of one agent may be at work; 16 by default. One that has settled counts no more.
    pub fn max_live(mut self, children: usize) -> Self {
        self.most = children;
        self
    }

    /// How long one `wait_agent` may wait; 10 minutes by default.
    pub fn longest_wait(mut self, limit: Duration) -> Self {
        self.longest_wait = limit;
        self
    }

    /// Makes the toolset.
    #[must_use]
    pub fn build(self) -> DelegationTools {
        let SubagentToolBuilder { source, mut settings, .. } = self.tool;
        let result_bytes = settings.result_bytes;
        settings.can_read = true;
        settings.background = Some(Background { most: self.most, keeps: self.followup_agent });
        let mut tools = vec![
            DelegationTool::new(SubagentTool::new(source, settings)),
            DelegationTool::new(WaitAgent { longest: self.longest_wait, result_bytes }),
            DelegationTool::new(ListAgents),
            DelegationTool::new(InterruptAgent { result_bytes }),
            DelegationTool::new(ReadResult { result_bytes }),
        ];
        if self.send_message {
            tools.push(DelegationTool::new(SendMessage));
        }
        if self.followup_agent {
            tools.push(DelegationTool::new(FollowupAgent { most: self.most }));
        }
        DelegationTools { tools }
    }
}

impl<P: Provider> DelegationToolsBuilder<ProviderHandle<P>> {
    /// Adds `send_message`: a message to a child that works. It does not compile for a provider whose runs are not
    /// [`Steerable`](crate::Steerable).
    pub fn send_message(mut self) -> Self
    where
        P::Run: TakesMessages,
    {
        self.send_message = true;
        self
    }

    /// Adds `followup_agent`: a further task for a child that has settled, in the same session. It does not compile
    /// for a provider whose runs are not [`Resumable`](crate::Resumable).
    pub fn followup_agent(mut self) -> Self
    where
        P::Run: TakesFollowUps,
    {
        self.followup_agent = true;
        self
    }
}

impl DelegationToolsBuilder<ByProviderName> {
    /// Adds `send_message`, if the runs of the provider are [`Steerable`](crate::Steerable).
    ///
    /// # Errors
    ///
    /// [`MissingControl`] when they are not, or the provider is not registered.
    pub fn try_send_message(mut self) -> Result<Self, MissingControl> {
        self.check(SEND_MESSAGE, "Steerable", crate::AnyProviderHandle::can_steer)?;
        self.send_message = true;
        Ok(self)
    }

    /// Adds `followup_agent`, if the runs of the provider are [`Resumable`](crate::Resumable).
    ///
    /// # Errors
    ///
    /// [`MissingControl`] when they are not, or the provider is not registered.
    pub fn try_followup_agent(mut self) -> Result<Self, MissingControl> {
        self.check(FOLLOWUP_AGENT, "Resumable", crate::AnyProviderHandle::can_resume)?;
        self.followup_agent = true;
        Ok(self)
    }

    fn check(
        &self,
        control: &'static str,
        capability: &'static str,
        has: impl Fn(&crate::AnyProviderHandle) -> bool,
    ) -> Result<(), MissingControl> {
        let ByProviderName { subagents, name } = &self.tool.provider;
        let provider =
            subagents.get(name).map_err(|source| MissingControl::NoProvider { control, source })?;
        if has(&provider) {
            Ok(())
        } else {
            Err(MissingControl::Unsupported { control, provider: Arc::clone(name), capability })
        }
    }
}

impl<P> fmt::Debug for DelegationToolsBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelegationToolsBuilder")
            .field("tool", &self.tool)
            .field("send_message", &self.send_message)
            .field("followup_agent", &self.followup_agent)
            .finish_non_exhaustive()
    }
}

/// One tool of a [`DelegationTools`]: a tool of the built-in agent, and of any other loop. Cheap to clone.
#[derive(Clone)]
pub struct DelegationTool(Arc<dyn Callable>);

impl DelegationTool {
    fn new(tool: impl Callable + 'static) -> Self {
        Self(Arc::new(tool))
    }

    /// The tool's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Whether the tool can be called now: its provider is registered. Loops that can change their list of tools
    /// leave out those that cannot.
    #[must_use]
    pub fn is_available(&self) -> bool {
        self.0.is_available()
    }

    /// What a model is told of the tool, as things are now.
    #[must_use]
    pub fn definition(&self) -> ToolDefinition {
        self.0.definition()
    }

    /// Runs one call. It does not fail: what goes wrong is an error output.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, a child that it waits for in the foreground is cancelled and disposed of in the
    /// background. A wait for background children takes nothing.
    pub async fn call(&self, arguments: Value, context: impl Into<CallContext> + Send) -> ToolOutput {
        self.0.call(arguments, context.into()).await
    }

    fn is_control(&self) -> bool {
        self.0.is_control()
    }
}

impl Tool for DelegationTool {
    fn definition(&self) -> ToolDefinition {
        self.definition()
    }

    async fn call(&self, arguments: Value, context: ToolContext) -> ToolOutput {
        self.call(arguments, &context).await
    }
}

impl fmt::Debug for DelegationTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DelegationTool").field(&self.name()).finish()
    }
}

/// What a tool of the set does.
pub(super) trait Callable: Send + Sync {
    fn name(&self) -> &str;

    fn definition(&self) -> ToolDefinition;

    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'_, ToolOutput>;

    fn is_available(&self) -> bool {
        true
    }

    /// Whether it is the same for every provider.
    fn is_control(&self) -> bool {
        true
    }
}

impl Callable for SubagentTool {
    fn name(&self) -> &str {
        &self.settings.name
    }

    fn definition(&self) -> ToolDefinition {
        self.definition()
    }

    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'_, ToolOutput> {
        self.call(arguments, context).boxed()
    }

    fn is_available(&self) -> bool {
        self.is_available()
    }

    fn is_control(&self) -> bool {
        false
    }
}
