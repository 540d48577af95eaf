//! The tools that control what was delegated. They are the same for every provider.

mod followup;
mod interrupt;
mod list;
mod read_result;
mod send_message;
mod wait;

use futures::future::BoxFuture;
use futures::{Future, FutureExt};
use serde_json::{Value, json};

pub(super) use followup::{FOLLOWUP_AGENT, FollowupAgent};
pub(super) use interrupt::InterruptAgent;
pub(super) use list::ListAgents;
pub(super) use read_result::{READ_RESULT, ReadResult};
pub(super) use send_message::{SEND_MESSAGE, SendMessage};
pub(super) use wait::WaitAgent;

use super::report::Report;
use crate::agent::ToolOutput;

const AGENT_ID: &str = "agent_id";

/// The schema of an object with these fields.
#[expect(clippy::needless_pass_by_value, reason = "reads better at the call: `json!({…})`")]
fn schema(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn agent_id() -> Value {
    json!({ "type": "string", "description": "The id of one of your agents, as the tool that started it told it." })
}

/// An `Err` is an error output.
fn answer<'a>(
    call: impl Future<Output = Result<ToolOutput, String>> + Send + 'a,
) -> BoxFuture<'a, ToolOutput> {
    call.map(|answered| answered.unwrap_or_else(ToolOutput::error)).boxed()
}

/// What an agent asked for several reports gets: all of them and, at the end, what the harness adds. It is no error
/// that a child failed: the wait did what it should.
fn several(reports: Vec<Report>, last: String) -> ToolOutput {
    let mut content: Vec<_> = reports.into_iter().flat_map(|report| report.output.content).collect();
    content.push(last.into());
    ToolOutput::new(content)
}
