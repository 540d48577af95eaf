use std::slice;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time;

use super::{AGENT_ID, agent_id, answer, schema, several};
use crate::agent::{ToolDefinition, ToolOutput};
use crate::delegation::arguments::{Arguments, MOST_LABEL_BYTES};
use crate::delegation::context::CallContext;
use crate::delegation::report::Ending;
use crate::delegation::toolset::Callable;

const INTERRUPT_AGENT: &str = "interrupt_agent";
/// How long the answer waits for the end; after that it comes as a notice.
const PATIENCE: Duration = Duration::from_secs(30);

/// Stops a child, and all that it has delegated.
pub(in crate::delegation) struct InterruptAgent {
    pub(in crate::delegation) result_bytes: usize,
}

impl Callable for InterruptAgent {
    fn name(&self) -> &str {
        INTERRUPT_AGENT
    }

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            INTERRUPT_AGENT,
            "Stops one of your background agents and all agents below it, and returns what it has done so far.",
            schema(
                json!({
                    AGENT_ID: agent_id(),
                    "reason": { "type": "string", "maxLength": MOST_LABEL_BYTES, "description": "Why it is stopped." },
                }),
                &[AGENT_ID],
            ),
        )
    }

    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'_, ToolOutput> {
        answer(async move {
            let mut arguments = Arguments::read(arguments, &[AGENT_ID, "reason"])?;
            let asked =
                arguments.id(AGENT_ID)?.ok_or("`agent_id` is missing. Say which agent is to stop.")?;
            let reason = arguments.optional_text("reason", MOST_LABEL_BYTES)?;
            let delegations = context.owned()?;
            let child = delegations.find(&asked)?;
            if let Some(follow_up) = child.followed_by() {
                return Err(format!("Agent {} goes on as agent {follow_up}: use that id.", child.whom.id));
            }
            let was_running = child.is_running();
            if was_running {
                child.stop.ask(reason.as_deref().unwrap_or("its parent stopped it"));
            }
            let ended = async {
                loop {
                    let changed = delegations.changed();
                    if !child.is_running() {
                        return;
                    }
                    changed.await;
                }
            };
            let ended = tokio::select! {
                biased;
                () = ended => true,
                () = context.cancellation.cancelled() => false,
                () = time::sleep(PATIENCE) => false,
            };
            let id = child.whom.id;
            if !ended {
                return Ok(ToolOutput::text(format!(
                    "Agent {id} was told to stop. You are told when it has ended."
                )));
            }
            let report = |ending: &Ending| ending.report(self.result_bytes, Some(super::READ_RESULT));
            let told =
                delegations.take(slice::from_ref(&child), context.is_confirmed_later(), usize::MAX, report);
            let last = match (was_running, told.is_empty()) {
                (true, _) => format!("Stopped: {id}."),
                (false, false) => format!("Agent {id} had ended by itself."),
                (false, true) => format!("Agent {id} had ended already, and you were told its outcome."),
            };
            Ok(several(told, last))
        })
    }
}
