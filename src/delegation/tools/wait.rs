use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time;

use super::{answer, schema, several};
use crate::agent::{ToolDefinition, ToolOutput};
use crate::delegation::arguments::{Arguments, Asked};
use crate::delegation::child::{Child, ChildState};
use crate::delegation::context::CallContext;
use crate::delegation::report::Ending;
use crate::delegation::shared::Shared;
use crate::delegation::toolset::Callable;

const WAIT_AGENT: &str = "wait_agent";
const DEFAULT_SECONDS: u64 = 120;
/// How many bytes of reports one wait hands out; further ends stay for the next.
const ROOM: usize = 64 * 1024;

/// Waits until one of some children, or of all, has ended.
pub(in crate::delegation) struct WaitAgent {
    pub(in crate::delegation) longest: Duration,
    pub(in crate::delegation) result_bytes: usize,
}

impl Callable for WaitAgent {
    fn name(&self) -> &str {
        WAIT_AGENT
    }

    fn definition(&self) -> ToolDefinition {
        let most = self.longest.as_secs();
        ToolDefinition::new(
            WAIT_AGENT,
            "Waits until at least one of your background agents has ended, and returns the outcome of each that has. \
             When the time passes it says which still work; that is no error, and they go on. Each outcome is handed \
             out once.",
            schema(
                json!({
                    "agent_ids": {
                        "type": "array",
                        "items": { "type": "string" },
                        "minItems": 1,
                        "description": "Which agents to wait for; all of yours by default.",
                    },
                    "timeout_seconds": {
                        "type": "integer",
                        "minimum": 0,
                        "maximum": most,
                        "description": format!("How long to wait: {} by default, at most {most}.", self.seconds(None)),
                    },
                }),
                &[],
            ),
        )
    }

    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'_, ToolOutput> {
        answer(async move {
            let mut arguments = Arguments::read(arguments, &["agent_ids", "timeout_seconds"])?;
            let asked = arguments.ids("agent_ids")?;
            let seconds = self.seconds(arguments.number("timeout_seconds")?);
            let delegations = context.owned()?;
            let children = awaited(delegations, asked)?;
            let limit = time::sleep(Duration::from_secs(seconds));
            tokio::pin!(limit);
            loop {
                let changed = delegations.changed();
                if let Some(output) = self.ended(delegations, &children, &context) {
                    return Ok(output);
                }
                tokio::select! {
                    biased;
                    () = context.cancellation.cancelled() => {
                        return Err("The wait was stopped; your agents go on.".to_owned());
                    }
                    () = changed => {}
                    () = &mut limit => {
                        let still = still_working(&children);
                        return Ok(ToolOutput::text(format!("Nothing has ended within {seconds} s. {still}")));
                    }
                }
            }
        })
    }
}

impl WaitAgent {
    fn seconds(&self, asked: Option<u64>) -> u64 {
        asked.unwrap_or(DEFAULT_SECONDS).min(self.longest.as_secs())
    }

    /// The answer, where there is one already.
    fn ended(
        &self,
        delegations: &Shared,
        children: &[Arc<Child>],
        context: &CallContext,
    ) -> Option<ToolOutput> {
        let report = |ending: &Ending| ending.report(self.result_bytes, Some(super::READ_RESULT));
        let reports = delegations.take(children, context.is_confirmed_later(), ROOM, report);
        if !reports.is_empty() {
            let ready = children.iter().filter(|child| child.undelivered().is_some()).count();
            let more =
                if ready == 0 { String::new() } else { format!("{ready} more have ended: wait again. ") };
            return Some(several(reports, format!("{more}{}", still_working(children))));
        }
        if children.iter().any(|child| child.is_running()) {
            return None;
        }
        Some(ToolOutput::text(if children.is_empty() {
            "You have no agent to wait for.".to_owned()
        } else {
            "These agents have ended, and you were told their outcome already.".to_owned()
        }))
    }
}

/// The children that are meant: those that are named, or all that work or have something to tell.
fn awaited(delegations: &Shared, asked: Option<Vec<Asked>>) -> Result<Vec<Arc<Child>>, String> {
    let Some(asked) = asked else {
        let mut children = delegations.children();
        children.retain(|child| child.state() != ChildState::Delivered);
        return Ok(children);
    };
    let mut children: Vec<Arc<Child>> = Vec::new();
    for id in &asked {
        let child = delegations.find(id)?;
        if !children.iter().any(|listed| listed.whom.id == child.whom.id) {
            children.push(child);
        }
    }
    Ok(children)
}

fn still_working(children: &[Arc<Child>]) -> String {
    let working: Vec<_> =
        children.iter().filter(|child| child.is_running()).map(|child| child.whom.id.to_string()).collect();
    if working.is_empty() {
        "None of them works any more.".to_owned()
    } else {
        format!("Still at work: {}.", working.join(", "))
    }
}
