use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use super::activity::Activity;
use super::agent_loop::{contained, cut};
use super::builder::Agent;
use super::ledger::UsageLedger;
use super::limits::Limits;
use super::model::{Model, ModelError, ModelRequest, ModelStream};
use super::session::{SessionHeader, SessionWriter};
use super::tool::{CallingAgent, ToolContext, ToolDefinition, ToolOutput, ToolSet};
use crate::content::{ContentKind, ContentKinds};
use crate::delegation;
use crate::id::SessionId;
use crate::parent::Parent;
use crate::request::StartRequest;
use crate::sync::lock;
use crate::trace;
use crate::usage::Usage;

/// A child in another program, as the tools of this program see it that it calls: an agent at its own depth, bound by
/// all that binds its parent's descendants.
pub(crate) struct OutsideAgent {
    agent: Agent,
    /// Whether there is a model here that its in-process children can inherit: the parent's.
    has_model: bool,
    /// That of the parent, which is kept from being idle.
    activity: Option<Activity>,
    /// Where the usage of the parent is added up.
    above: Option<UsageLedger>,
    /// That of the turn.
    usage: Mutex<UsageLedger>,
    /// That of the run whose turn it is.
    span: Mutex<Span>,
}

impl OutsideAgent {
    /// The child that works on this request, and the tools that it may call.
    pub(crate) fn new(request: &StartRequest, tools: ToolSet) -> Self {
        let parent = request.parent();
        // It is to its own children what any child is.
        let place = request.as_parent(SessionId::new());
        let mut header = SessionHeader::new(place.session_id().clone());
        header.parent = parent.map(|parent| parent.session_id().clone());
        header.depth = place.depth();
        header.working_dir = place.working_dir().map(Into::into);
        header.max_depth = place.max_depth();
        header.tool_filter = place.tool_filter().cloned();
        header.max_steps = place.max_steps();
        header.max_output_tokens = place.max_output_tokens();
        let model = parent.and_then(Parent::agent).and_then(CallingAgent::inherited_model);
        let has_model = model.is_some();
        let above = parent.and_then(Parent::usage).cloned();
        let agent = Agent::builder(model.cloned().unwrap_or_else(|| Arc::new(NoModel)))
            .id(place.agent_id().clone())
            .session(SessionWriter::new(header))
            .tools(tools)
            .build();
        let activity = place.activity().cloned();
        Self { agent, has_model, activity, above, usage: Mutex::default(), span: Mutex::new(Span::none()) }
    }

    pub(crate) fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.agent.tools.definitions()
    }

    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.agent.tools.contains(tool)
    }

    /// A turn begins, in the current span: its usage is counted anew.
    pub(crate) fn begin_turn(&self) {
        *lock(&self.span) = Span::current();
        let usage = self.above.as_ref().map_or_else(UsageLedger::new, UsageLedger::child_of);
        *lock(&self.usage) = usage;
        self.agent.delegations().shared().begin_turn();
    }

    /// The turn has ended, and with it what its calls left at work in the background; it is told in `diagnostic`.
    pub(crate) async fn end_turn(&self, was_cancelled: bool, diagnostic: &mut Option<String>) {
        delegation::end_with_run(self.agent.delegations().shared(), was_cancelled, diagnostic).await;
        // The run's span ends with the run, and this outlives it.
        *lock(&self.span) = Span::none();
    }

    /// Returns when nothing of what was left in the background is there any more.
    pub(crate) async fn close(&self) {
        delegation::close(self.agent.delegations().shared()).await;
    }

    /// What the calls of this turn used.
    pub(crate) fn usage(&self) -> Usage {
        lock(&self.usage).usage()
    }

    /// Runs one call, as the built-in agent would. It ends soon after `cancellation` fires. There is no place between
    /// two steps: what has ended in the background is told with the result.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: Value,
        cancellation: CancellationToken,
    ) -> ToolOutput {
        let Some(erased) = self.agent.tools.tool(tool) else {
            return ToolOutput::error(format!("There is no tool named `{tool}`."));
        };
        let limits = Limits::default();
        let mut caller = self.agent.as_caller(cancellation.clone(), lock(&self.usage).clone());
        caller.has_model = self.has_model;
        let call_id = format!("call-{}", crate::id::uuid());
        let span = lock(&self.span).in_scope(|| trace::tool(tool, &call_id));
        let context = ToolContext {
            call_id: call_id.into(),
            agent: caller,
            // It fires at the call's end, too.
            cancellation: cancellation.child_token(),
            activity: Activity::new(self.activity.clone()),
        };
        let late = async {
            cancellation.cancelled().await;
            tokio::time::sleep(limits.cancel_grace).await;
        };
        let call = contained(erased, tool, arguments, context, limits.tool_deadline).instrument(span.clone());
        let output = tokio::select! {
            biased;
            output = call => output,
            () = late => ToolOutput::error("The call was stopped before it ended; whether it took effect is unknown."),
        };
        if output.is_error {
            trace::tool_failed(&span);
        }
        let mut output = cut(output, limits.tool_result_bytes, carried());
        // Nobody reads the answer to a call that was cancelled: what it would tell waits for the next.
        if !cancellation.is_cancelled() {
            let notices = self.agent.delegations().shared().at_step_boundary();
            output.content.extend(notices.into_iter().flatten());
        }
        output
    }
}

impl fmt::Debug for OutsideAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutsideAgent").field("tools", &self.agent.tools).finish_non_exhaustive()
    }
}

/// What a result may hold.
fn carried() -> ContentKinds {
    ContentKinds::TEXT
        .with(ContentKind::Image)
        .with(ContentKind::Audio)
        .with(ContentKind::ResourceLink)
        .with(ContentKind::Resource)
}

/// The model of an agent in another program: nobody here can ask it.
struct NoModel;

impl Model for NoModel {
    fn name(&self) -> &'static str {
        "(outside)"
    }

    fn stream(&self, _request: ModelRequest) -> ModelStream {
        ModelStream::failed(ModelError::BadRequest {
            message: "an agent in another program has no model for its in-process children: give their provider one"
                .to_owned(),
            source: None,
        })
    }
}
