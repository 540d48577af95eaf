use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{AGENT_ID, agent_id, answer, schema};
use crate::agent::{ToolDefinition, ToolOutput};
use crate::delegation::arguments::{Arguments, MOST_PROMPT_BYTES};
use crate::delegation::context::CallContext;
use crate::delegation::keeper::Message;
use crate::delegation::toolset::Callable;

pub(in crate::delegation) const SEND_MESSAGE: &str = "send_message";

/// Sends a message to a child that works.
pub(in crate::delegation) struct SendMessage;

impl Callable for SendMessage {
    fn name(&self) -> &str {
        SEND_MESSAGE
    }

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            SEND_MESSAGE,
            "Sends a message to one of your background agents while it works. It reads the message at its next step; \
             its work goes on.",
            schema(
                json!({
                    AGENT_ID: agent_id(),
                    "message": { "type": "string", "minLength": 1, "description": "What the agent is to know." },
                }),
                &[AGENT_ID, "message"],
            ),
        )
    }

    fn call(&self, arguments: Value, context: CallContext) -> BoxFuture<'_, ToolOutput> {
        answer(async move {
            let mut arguments = Arguments::read(arguments, &[AGENT_ID, "message"])?;
            let asked = arguments
                .id(AGENT_ID)?
                .ok_or("`agent_id` is missing. Say which agent is to get the message.")?;
            let text = arguments.text("message", MOST_PROMPT_BYTES)?;
            let child = context.owned()?.find(&asked)?;
            let id = child.whom.id;
            if let Some(follow_up) = child.followed_by() {
                return Err(format!("Agent {id} goes on as agent {follow_up}: use that id."));
            }
            let not_sent = |why: &str| Err(format!("The message was not sent to agent {id}: {why}."));
            let settled = "it has ended; use `followup_agent` where you have it, or start a new one";
            let (sender, answered) = oneshot::channel();
            if !child.is_running() || child.messages.send(Message { text, answer: sender }).is_err() {
                return not_sent(settled);
            }
            let answered = tokio::select! {
                biased;
                answered = answered => answered,
                () = context.cancellation.cancelled() => {
                    return Err(format!("Whether the message reached agent {id} is unknown: the call was stopped."));
                }
            };
            match answered {
                Ok(Ok(())) => {
                    Ok(ToolOutput::text(format!("Agent {id} has the message and reads it at its next step.")))
                }
                Ok(Err(why)) => not_sent(&why),
                Err(_) => not_sent(settled),
            }
        })
    }
}
