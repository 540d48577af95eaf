use std::pin::pin;

use futures::StreamExt;

use super::{SubagentTool, start_failed};
use crate::agent::ToolOutput;
use crate::content::ContentBlock;
use crate::delegation::context::CallContext;
use crate::delegation::keeper::count;
use crate::delegation::report::{Ending, Whom};
use crate::delegation::source::Task;
use crate::error::chain;
use crate::id::RunId;

impl SubagentTool {
    /// Starts a child, waits for it, disposes of it, and reports.
    pub(super) async fn run(
        &self,
        prompt: Vec<ContentBlock>,
        context: &CallContext,
    ) -> Result<ToolOutput, String> {
        let (parent, ledger) = context.parent_of_one()?;
        let before = ledger.usage();
        let id = RunId::new();
        let task = Task { prompt, parent, id, cancellation: context.cancellation.clone() };
        let live = self.source.start(task)?.start.await.map_err(|error| start_failed(&chain(&error)))?;
        let whom = Whom {
            id,
            provider: self.source.provider().to_owned(),
            agent_type: live.info().agent_type.as_deref().map(str::to_owned),
        };
        let mut updates = live.updates();
        let mut collecting = pin!(live.collect());
        let collected = loop {
            tokio::select! {
                biased;
                collected = &mut collecting => break collected,
                // A child at work is no silence of its parent.
                Some(_) = updates.next(), if context.agent.is_some() => context.report_activity(),
            }
        };
        let verdict = collected.result.map(crate::SubagentResult::into_outcome);
        if let Ok(outcome) = &verdict {
            count(&ledger, &before, &outcome.usage);
        }
        let cleanup = collected.disposal.err().map(|error| {
            tracing::error!(run_id = %id, error = &error as &dyn std::error::Error, "a child was not disposed of");
            chain(&error)
        });
        let report = Ending { whom, verdict, cleanup }.report(self.settings.result_bytes, self.reader());
        if let (Some(whole), Some(delegations)) = (report.whole, &context.delegations) {
            delegations.keep_result(id, whole);
        }
        Ok(report.output)
    }
}
