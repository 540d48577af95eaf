use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{CallContext, DelegationTool, DelegationTools, Delegations};
use crate::agent::ToolOutput;
use crate::parent::Parent;

/// A toolset that serves one agent of another loop.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) tools: DelegationTools,
    pub(super) parent: Parent,
    pub(super) delegations: Delegations,
}

impl Served {
    pub(super) fn new(tools: DelegationTools, parent: Parent) -> Self {
        Self { tools, parent, delegations: Delegations::new() }
    }

    /// Runs one call. Such a loop has no place between two steps: what its model has to be told goes with the result.
    pub(super) async fn call(
        &self,
        tool: &DelegationTool,
        arguments: Value,
        cancellation: CancellationToken,
    ) -> ToolOutput {
        let context = CallContext::new()
            .parent(&self.parent)
            .delegations(&self.delegations)
            .cancellation(cancellation.clone());
        let mut output = tool.call(arguments, context).await;
        // Nobody reads the answer to a call that was cancelled: what it would tell waits for the next.
        if !cancellation.is_cancelled() {
            output.content.extend(self.delegations.take_notices().into_iter().flatten());
        }
        output
    }
}
