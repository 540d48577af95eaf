//! What an in-process child gets from its parent beside its place: tools, limits, and where usage is counted.

use std::num::NonZeroU32;
use std::sync::Arc;

use super::Parent;
use super::log::Log;
use crate::agent::{Activity, CallingAgent, ToolContext, ToolSet, UsageLedger};
use crate::capability::{Capability, DepthLimit, OutputTokenLimit, StepLimit, ToolFilter};
use crate::id::SessionId;
use crate::request::StartRequest;

impl Parent {
    /// Sets the tools that the parent offers to in-process children.
    #[must_use]
    pub fn with_tools(self, tools: ToolSet) -> Self {
        self.change(|fields| fields.tools = Some(tools))
    }

    /// Binds this agent's in-process descendants to what the filter permits. Called twice, both filters bind.
    #[must_use]
    pub fn with_tool_filter(self, filter: ToolFilter) -> Self {
        self.change(|fields| {
            fields.tool_filter = Some(match fields.tool_filter.take() {
                Some(earlier) => ToolFilter::narrow(earlier, filter),
                None => filter,
            });
        })
    }

    /// Sets where the usage of this agent's in-process descendants is added up as it arises.
    #[must_use]
    pub fn with_usage(self, ledger: UsageLedger) -> Self {
        self.change(|fields| fields.usage = Some(ledger))
    }

    /// The tools that the parent offers.
    #[must_use]
    pub fn tools(&self) -> Option<&ToolSet> {
        self.0.tools.as_ref()
    }

    /// What this agent's descendants may use of them.
    #[must_use]
    pub fn tool_filter(&self) -> Option<&ToolFilter> {
        self.0.tool_filter.as_ref()
    }

    /// Where the usage of this agent's descendants is added up.
    #[must_use]
    pub fn usage(&self) -> Option<&UsageLedger> {
        self.0.usage.as_ref()
    }

    /// The agent itself, where it is one of the built-in kind.
    #[must_use]
    pub fn agent(&self) -> Option<&CallingAgent> {
        self.0.agent.as_ref()
    }

    /// The same agent, whose children outlive the turn that starts them.
    pub(crate) fn without_cancellation(self) -> Self {
        self.change(|fields| fields.cancellation = None)
    }

    /// The child of a run.
    pub(crate) fn of_run(request: &StartRequest, session: SessionId) -> Self {
        let above = request.parent().cloned();
        let parent = Self::new(request.run_id(), session).change(|fields| {
            fields.depth = request.depth();
            fields.working_dir = request.working_dir().map(Into::into);
            fields.max_depth =
                smallest(above.as_ref().and_then(Self::max_depth), request.peek::<DepthLimit>());
            fields.max_steps =
                smallest(above.as_ref().and_then(Self::max_steps), request.peek::<StepLimit>());
            fields.max_output_tokens = smallest(
                above.as_ref().and_then(Self::max_output_tokens),
                request.peek::<OutputTokenLimit>(),
            );
            fields.tool_filter = above.as_ref().and_then(Self::tool_filter).cloned();
            fields.usage = above.as_ref().and_then(Self::usage).map(UsageLedger::child_of);
            fields.activity = above.as_ref().and_then(Self::activity).cloned();
            fields.cancellation = Some(request.cancellation().token());
        });
        match request.peek::<ToolFilter>() {
            Some(filter) => parent.with_tool_filter(filter),
            None => parent,
        }
    }

    pub(crate) fn activity(&self) -> Option<&Activity> {
        self.0.activity.as_ref()
    }

    pub(crate) fn max_steps(&self) -> Option<NonZeroU32> {
        self.0.max_steps
    }

    pub(crate) fn max_output_tokens(&self) -> Option<NonZeroU32> {
        self.0.max_output_tokens
    }
}

/// The tighter of two limits.
pub(crate) fn smallest<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}

/// The agent with all that it passes on: place, directory, model, tools, limits, usage, and its cancellation.
impl From<&CallingAgent> for Parent {
    fn from(agent: &CallingAgent) -> Self {
        let header = agent.session.header();
        Self::new(agent.id.clone(), header.id.clone()).change(|fields| {
            fields.depth = header.depth;
            fields.max_depth = header.max_depth;
            fields.working_dir.clone_from(&header.working_dir);
            fields.model = agent.inherited_model().map(|model| model.name().into());
            fields.cancellation = Some(agent.cancellation.clone());
            fields.tools = Some(agent.tools.clone());
            fields.tool_filter.clone_from(&header.tool_filter);
            fields.max_steps = header.max_steps;
            fields.max_output_tokens = header.max_output_tokens;
            fields.usage = Some(agent.usage.clone());
            fields.log = Some(Log(Arc::new(agent.session.clone())));
            fields.agent = Some(agent.clone());
        })
    }
}

/// The calling agent; its child is cancelled when the call ends, and what the child does keeps the agent from being
/// idle.
impl From<&ToolContext> for Parent {
    fn from(context: &ToolContext) -> Self {
        Self::from(&context.agent)
            .with_cancellation(context.cancellation.clone())
            .change(|fields| fields.activity = Some(context.activity.clone()))
    }
}
