use std::fmt::Write;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{answer, schema};
use crate::agent::{ToolDefinition, ToolOutput};
use crate::delegation::arguments::Arguments;
use crate::delegation::child::{Child, ChildState};
use crate::delegation::context::CallContext;
use crate::delegation::report::one_line;
use crate::delegation::toolset::Callable;

const LIST_AGENTS: &str = "list_agents";

/// Lists every child that works, or whose outcome was not delivered, or that can be followed up.
pub(in crate::delegation) struct ListAgents;

impl Callable for ListAgents {
    fn name(&self) -> &str {
        LIST_AGENTS
    }

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            LIST_AGENTS,
            "Lists your background agents: all that work, all whose outcome you were not told yet, and those that you \
             can still follow up.",
            schema(json!({}), &[]),
        )
    }

    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'_, ToolOutput> {
        answer(async move {
            Arguments::read(arguments, &[])?;
            let mut children = context.owned()?.children();
            children.retain(|child| child.state() != ChildState::Delivered || child.is_kept());
            if children.is_empty() {
                return Ok(ToolOutput::text("You have no background agents."));
            }
            Ok(ToolOutput::text(children.iter().fold(String::new(), |mut list, child| {
                // Writing to a string does not fail.
                writeln!(list, "{}", line(child)).ok();
                list
            })))
        })
    }
}

fn line(child: &Child) -> String {
    let state = match child.state() {
        ChildState::Starting => "starting".to_owned(),
        ChildState::Live => {
            let activity = child.control().and_then(|control| control.last_activity());
            match activity {
                Some(last) => format!("at work, last active {} s ago", last.elapsed().as_secs()),
                None => "at work".to_owned(),
            }
        }
        ChildState::Undelivered => "ended, `wait_agent` hands out its outcome".to_owned(),
        ChildState::Delivered => "ended, can be followed up".to_owned(),
    };
    let whom = &child.whom;
    let kind = whom.agent_type.as_ref().map(|kind| format!(", {}", one_line(kind))).unwrap_or_default();
    format!(
        "{} ({}{kind}): {state}. Task: {}",
        whom.id,
        one_line(&whom.provider),
        one_line(&child.description)
    )
}
