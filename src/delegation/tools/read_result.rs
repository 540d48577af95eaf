use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{AGENT_ID, agent_id, answer, schema};
use crate::agent::{ToolDefinition, ToolOutput};
use crate::delegation::arguments::{Arguments, Asked};
use crate::delegation::context::CallContext;
use crate::delegation::report::frame;
use crate::delegation::toolset::Callable;

pub(in crate::delegation) const READ_RESULT: &str = "read_result";

/// Reads on in a result that was cut.
pub(in crate::delegation) struct ReadResult {
    pub(in crate::delegation) result_bytes: usize,
}

impl Callable for ReadResult {
    fn name(&self) -> &str {
        READ_RESULT
    }

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            READ_RESULT,
            "Reads on in the result of a subagent of which only the first part was shown.",
            schema(
                json!({
                    AGENT_ID: agent_id(),
                    "offset": { "type": "integer", "minimum": 0, "description": "From which byte on; 0 by default." },
                }),
                &[AGENT_ID],
            ),
        )
    }

    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'_, ToolOutput> {
        answer(async move {
            let mut arguments = Arguments::read(arguments, &[AGENT_ID, "offset"])?;
            let asked =
                arguments.id(AGENT_ID)?.ok_or("`agent_id` is missing. Say whose result is to be read.")?;
            let offset = usize::try_from(arguments.number("offset")?.unwrap_or(0)).unwrap_or(usize::MAX);
            let delegations = context.owned()?;
            if let Asked::Id(id) = asked
                && let Some((piece, total)) = delegations.read_result(id, offset, self.result_bytes)
            {
                if piece.is_empty() {
                    return Ok(ToolOutput::text(format!(
                        "The result has {total} bytes; there is nothing after that."
                    )));
                }
                let mut said = vec![format!("From byte {offset} of {total}.")];
                frame(&mut said, "output", id, &piece);
                let end = offset.saturating_add(piece.len());
                if end < total {
                    said.push(format!("\n[read on at offset {end}]"));
                }
                return Ok(ToolOutput::text(said.concat()));
            }
            let child = delegations.find(&asked)?;
            let id = child.whom.id;
            Err(if child.is_running() {
                format!("Agent {id} has not ended: `wait_agent` waits for its result.")
            } else {
                format!("Nothing more of the result of agent {id} is kept: what you were told of it was all.")
            })
        })
    }
}
