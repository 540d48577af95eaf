use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use super::agent_loop::{contained, cut};
use super::builder::Agent;
use super::ledger::UsageLedger;
use super::limits::Limits;
use super::model::NO_MODEL;
use super::model::{Model, ModelError, ModelRequest, ModelStream};
use super::session::{SessionHeader, SessionWriter};
use super::tool::{ToolContext, ToolDefinition, ToolOutput, ToolSet};
use crate::content::{ContentKind, ContentKinds};
use crate::id::SessionId;
use crate::parent::Parent;
use crate::request::StartRequest;
use crate::sync::lock;
use crate::usage::Usage;

/// A child in another program, as the tools of this program see it that it calls: an agent at its own depth, bound by
/// all that binds its parent's descendants.
pub(crate) struct OutsideAgent {
    agent: Agent,
    /// That of the parent, which is kept from being idle.
    activity: Option<Activity>,
    /// Where the usage of the parent is added up.
    above: Option<UsageLedger>,
    /// That of the turn.
    usage: Mutex<UsageLedger>,
}

impl OutsideAgent {
    /// The child that works on this request, and the tools that it may call.
    pub(crate) fn new(request: &StartRequest, tools: ToolSet) -> Self {
        let parent = request.parent();
        let mut header = SessionHeader::new(SessionId::new());
        header.depth = request.depth();
        header.working_dir = request.working_dir().map(Into::into);
        if let Some(parent) = parent {
            header.parent = Some(parent.session_id().clone());
            header.max_depth = parent.max_depth();
            header.tool_filter = parent.tool_filter().cloned();
            header.max_steps = parent.max_steps();
            header.max_output_tokens = parent.max_output_tokens();
        }
        let model = parent.and_then(Parent::agent).map(|agent| Arc::clone(&agent.model));
        let above = parent.and_then(Parent::usage).cloned();
        let agent = Agent::builder(model.unwrap_or_else(|| Arc::new(NoModel)))
            .session(SessionWriter::new(header))
            .tools(tools)
            .build();
        let activity = parent.and_then(Parent::activity).cloned();
        Self { agent, activity, above, usage: Mutex::default() }
    }

    pub(crate) fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.agent.tools.definitions()
    }

    pub(crate) fn offers(&self, tool: &str) -> bool {
        self.agent.tools.contains(tool)
    }

    /// A turn begins: its usage is counted anew.
    pub(crate) fn begin_turn(&self) {
        let usage = self.above.as_ref().map_or_else(UsageLedger::new, UsageLedger::child_of);
        *lock(&self.usage) = usage;
    }

    /// What the calls of this turn used.
    pub(crate) fn usage(&self) -> Usage {
        lock(&self.usage).usage()
    }

    /// Runs one call, as the built-in agent would. It ends soon after `cancellation` fires.
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
        let context = ToolContext {
            call_id: format!("call-{}", crate::id::uuid()).into(),
            agent: self.agent.as_caller(cancellation.clone(), lock(&self.usage).clone()),
            cancellation: cancellation.clone(),
            activity: Activity::new(self.activity.clone()),
        };
        let late = async {
            cancellation.cancelled().await;
            tokio::time::sleep(limits.cancel_grace).await;
        };
        let output = tokio::select! {
            biased;
            output = contained(erased, tool, arguments, context, limits.tool_deadline) => output,
            () = late => ToolOutput::error("The call was stopped before it ended; whether it took effect is unknown."),
        };
        cut(output, limits.tool_result_bytes, carried())
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
        NO_MODEL
    }

    fn stream(&self, _request: ModelRequest) -> ModelStream {
        ModelStream::failed(ModelError::BadRequest {
            message: "an agent in another program has no model for its in-process children: give their provider one"
                .to_owned(),
            source: None,
        })
    }
}
