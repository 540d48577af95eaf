use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent::{ToolDefinition, ToolOutput, ToolSet};
use crate::capture::{DELIVERED, Delivery, Offer, OutputContract, TOOL, TOOL_DESCRIPTION, Verdict};
use crate::stop_reason::StopReason;
use crate::sync::lock;

/// The tool that a child delivers its value with.
pub(super) struct Capture {
    tool: Arc<str>,
    contract: OutputContract,
    retries: u32,
    /// `None` while no turn is under way.
    turn: Mutex<Option<Turn>>,
}

struct Turn {
    delivery: Delivery,
    /// Why the turn fails.
    failed: Option<String>,
    /// Ends it.
    cut: CancellationToken,
}

/// What the end of a turn comes to.
pub(in crate::acp) enum Judged {
    /// The child is prompted once more.
    Again(String),
    Settled {
        stop: StopReason,
        diagnostic: Option<String>,
        structured: Option<Value>,
    },
}

impl Capture {
    /// The tool under a name that none of the child's other tools has.
    pub(super) fn beside(tools: &ToolSet, contract: OutputContract, retries: u32) -> Self {
        let mut tool = TOOL.to_owned();
        while tools.contains(&tool) {
            tool.push('_');
        }
        Self { tool: tool.into(), contract, retries, turn: Mutex::new(None) }
    }

    pub(super) fn tool(&self) -> &str {
        &self.tool
    }

    pub(super) fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(&*self.tool, TOOL_DESCRIPTION, self.contract.shown().as_ref().clone())
    }

    /// What the child is told of the tool, at the end of its prompt.
    pub(super) fn instructions(&self, server: &str) -> String {
        format!(
            "Deliver your final result by calling the tool `{tool}` of the MCP server `{server}`; your list may show \
             it as `mcp__{server}__{tool}` or by a similar name. Its arguments are the result, by the tool's input \
             schema. Call it exactly once, when the work is done. Text alone does not count as the result. If the \
             tool says that the result does not fit, correct it and call the tool again.",
            tool = self.tool
        )
    }

    pub(super) fn begin(&self, cut: CancellationToken) {
        *lock(&self.turn) = Some(Turn { delivery: Delivery::default(), failed: None, cut });
    }

    pub(super) fn steered(&self) {
        if let Some(turn) = lock(&self.turn).as_mut() {
            turn.delivery.steered();
        }
    }

    /// The child calls the tool.
    pub(super) fn call(&self, arguments: Value) -> ToolOutput {
        let mut turn = lock(&self.turn);
        let Some(turn) = turn.as_mut() else {
            return ToolOutput::error("No result is asked for now: the turn is over.");
        };
        if turn.failed.is_some() {
            return ToolOutput::error("The result is not taken any more: the turn ends.");
        }
        if turn.delivery.is_delivered() {
            return ToolOutput::error("The result was delivered before, and that one counts. End your turn.");
        }
        match turn.delivery.offer(Ok(arguments), &self.contract, self.retries) {
            Offer::Fits(value) => {
                turn.delivery.commit(value);
                ToolOutput::text(DELIVERED)
            }
            Offer::Mismatch { told, failed } => {
                if failed.is_some() {
                    turn.failed = failed;
                    turn.cut.cancel();
                }
                ToolOutput::error(told)
            }
        }
    }

    pub(super) fn judge(&self, stop: StopReason, diagnostic: Option<String>, cancelled: bool) -> Judged {
        let mut current = lock(&self.turn);
        let Some(turn) = current.as_mut() else {
            return Judged::Settled { stop, diagnostic, structured: None };
        };
        let (stop, diagnostic) = match turn.failed.take() {
            Some(why) if !cancelled => (StopReason::Error, Some(why)),
            _ if stop == StopReason::Completed => match turn.delivery.after_prose(Some(&self.tool)) {
                Verdict::Delivered => (stop, diagnostic),
                Verdict::GoOn(told) => return Judged::Again(told),
                Verdict::Failed(why) => (StopReason::Error, Some(why)),
            },
            _ => (stop, diagnostic),
        };
        let in_order = matches!(stop, StopReason::Completed | StopReason::TurnLimit);
        let structured = turn.delivery.take().filter(|_| in_order);
        *current = None;
        Judged::Settled { stop, diagnostic, structured }
    }
}
