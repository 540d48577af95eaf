use std::sync::Arc;

use rig_core::message::EmptyToolName;
use rig_core::tool::{DynamicTool, ToolExecutionError, ToolOutput as RigOutput};
use tokio_util::sync::CancellationToken;

use super::served::Served;
use super::{DelegationTool, DelegationTools, Delegations};
use crate::agent::{ToolOutput, UsageLedger};
use crate::content::ContentBlock;
use crate::parent::Parent;
use crate::usage::Usage;

/// [`DelegationTools`] for an agent of [rig](rig_core): its model delegates to children of this crate.
///
/// rig's loop tells its model nothing between two steps, so what [`Delegations::take_notices`] has is added to the
/// result of the next call, whichever tool it is of. What the children used is not part of rig's own count:
/// [`usage`](Self::usage) has it. Background children end with this value: [`close`](Self::close) waits for that.
#[derive(Debug, Clone)]
pub struct RigTools {
    served: Arc<Served>,
    usage: UsageLedger,
}

impl RigTools {
    /// These tools, for the agent that is this parent. Usage is counted in the parent's ledger where it has one.
    #[must_use]
    pub fn new(tools: DelegationTools, parent: &Parent) -> Self {
        let usage = parent.usage().cloned().unwrap_or_default();
        let parent = parent.clone().with_usage(usage.clone());
        Self { served: Arc::new(Served::new(tools, parent)), usage }
    }

    /// The tools in rig's form, for `AgentBuilder::dynamic_tools`.
    ///
    /// # Errors
    ///
    /// [`EmptyToolName`] when a tool was configured without a name.
    pub fn tools(&self) -> Result<Vec<DynamicTool>, EmptyToolName> {
        self.served.tools.tools().iter().map(|tool| self.tool(tool)).collect()
    }

    /// What the children used, all together, as their parent's descendants.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.usage.usage()
    }

    /// What the agent has delegated in the background.
    pub fn delegations(&self) -> &Delegations {
        &self.served.delegations
    }

    /// Stops all background children, takes no more, and returns when nothing of them is left.
    ///
    /// # Cancel safety
    ///
    /// As [`Delegations::close`].
    pub async fn close(&self) {
        self.served.delegations.close().await;
    }

    fn tool(&self, tool: &DelegationTool) -> Result<DynamicTool, EmptyToolName> {
        let definition = tool.definition();
        let (served, tool) = (Arc::clone(&self.served), tool.clone());
        let call = move |arguments| -> futures::future::BoxFuture<'static, _> {
            let (served, tool) = (Arc::clone(&served), tool.clone());
            Box::pin(async move {
                let cancellation = CancellationToken::new();
                // Whoever drops the call ends what it waits for.
                let _stop = cancellation.clone().drop_guard();
                answer(&served.call(&tool, arguments, cancellation.clone()).await)
            })
        };
        Ok(DynamicTool::new(
            definition.name.try_into()?,
            definition.description,
            definition.input_schema,
            call,
        ))
    }
}

/// rig's results are text here: what a child says that is not text is named.
fn answer(output: &ToolOutput) -> Result<RigOutput, ToolExecutionError> {
    let texts = output.content.iter().map(|block| match block {
        ContentBlock::Text(text) => text.text.clone(),
        other => format!("\n[left out: {} content]", other.kind()),
    });
    let text: String = texts.collect();
    if output.is_error {
        Err(ToolExecutionError::other("the call failed").with_model_feedback(text))
    } else {
        Ok(RigOutput::text(text))
    }
}
