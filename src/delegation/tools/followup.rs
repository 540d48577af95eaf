use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{AGENT_ID, agent_id, answer, schema};
use crate::agent::{ToolDefinition, ToolOutput};
use crate::capability::NoOutput;
use crate::delegation::arguments::{Arguments, MOST_PROMPT_BYTES};
use crate::delegation::child::Child;
use crate::delegation::context::CallContext;
use crate::delegation::keeper::{Begin, Keeper, NotBegun};
use crate::delegation::report::Whom;
use crate::delegation::shared::mailbox;
use crate::delegation::subagent_tool::begin_now;
use crate::delegation::toolset::Callable;
use crate::erased::AnyRun;
use crate::error::{Refused, ResumeError, chain};
use crate::id::RunId;
use crate::run::{FollowUp, Run, Settled};

pub(in crate::delegation) const FOLLOWUP_AGENT: &str = "followup_agent";

/// Gives a settled child a further task, in the background.
pub(in crate::delegation) struct FollowupAgent {
    pub(in crate::delegation) most: usize,
}

impl Callable for FollowupAgent {
    fn name(&self) -> &str {
        FOLLOWUP_AGENT
    }

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            FOLLOWUP_AGENT,
            "Gives one of your background agents that has ended a further task, in the background. It still knows its \
             own work. The follow-up has an id of its own, and you are told when it has ended.",
            schema(
                json!({
                    AGENT_ID: agent_id(),
                    "prompt": { "type": "string", "minLength": 1, "description": "What the agent is to do next." },
                }),
                &[AGENT_ID, "prompt"],
            ),
        )
    }

    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'_, ToolOutput> {
        answer(async move {
            let mut arguments = Arguments::read(arguments, &[AGENT_ID, "prompt"])?;
            let asked =
                arguments.id(AGENT_ID)?.ok_or("`agent_id` is missing. Say which agent is to go on.")?;
            let prompt = arguments.text("prompt", MOST_PROMPT_BYTES)?;
            let delegations = context.owned()?;
            let before = delegations.find(&asked)?;
            let old = before.whom.id;
            if let Some(follow_up) = before.followed_by() {
                return Err(format!("Agent {old} went on as agent {follow_up}: use that id."));
            }
            if before.is_running() {
                return Err(format!("Agent {old} is at work: wait for it first, or send it a message."));
            }
            let (id, start) = (RunId::new(), CancellationToken::new());
            let (messages, mailbox) = mailbox();
            let whom = Whom { id, ..before.whom.clone() };
            let child = Child::new(
                whom,
                Arc::clone(&before.description),
                Arc::clone(&before.hub),
                before.ledger.clone(),
                delegations,
                messages,
            );
            delegations.add(&child, self.most).map_err(|refused| refused.say(self.most))?;
            let Some(settled) = before.take_kept() else {
                delegations.remove(id);
                return Err(format!(
                    "Agent {old} cannot be followed up: its session is not kept. Start a new one, and tell it what it \
                     needs to know."
                ));
            };
            before.set_followed_by(Some(id));
            let begin = resume(settled, FollowUp::new(prompt).run_id(id).cancellation(start.clone()));
            let keeper = Keeper::new(&child, mailbox, start, true, Some(Arc::clone(&before)));
            if let Err(not_begun) = begin_now(&child, keeper, begin).await {
                delegations.remove(id);
                before.set_followed_by(None);
                drop(not_begun.settled.and_then(|settled| before.keep(settled)).map(Settled::dispose));
                return Err(format!("Agent {old} could not be followed up: {}.", not_begun.why));
            }
            Ok(ToolOutput::text(format!(
                "Agent {old} goes on in the background as agent {id}. You are told when it has ended."
            )))
        })
    }
}

fn resume(settled: Settled<AnyRun, NoOutput>, follow_up: FollowUp) -> Begin {
    let settled = match settled.into_resumable() {
        Ok(settled) => settled,
        Err(settled) => {
            let why = "its provider cannot resume it".to_owned();
            return futures::future::ready(Err(NotBegun { why, cancelled: false, settled: Some(settled) }))
                .boxed();
        }
    };
    settled
        .resume(follow_up)
        .map(|resumed| match resumed {
            Ok(live) => Ok(live.erase()),
            Err(Refused { error, value: settled }) => Err(NotBegun {
                why: chain(&error),
                cancelled: matches!(error, ResumeError::Cancelled { .. }),
                settled: Some(settled.map_run(Run::erase)),
            }),
        })
        .boxed()
}
