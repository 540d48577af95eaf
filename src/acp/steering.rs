//! The extension `_session/steering`: a message that joins the turn that is under way.

use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::error::AcpSteerError;
use super::link::CallError;
use super::session::Session;
use super::wire::{AgentInfo, text_at};
use crate::content::ContentBlock;
use crate::error::SteerError;

/// How long an answer may take that the end of the turn overtook.
const OVERTAKEN: Duration = Duration::from_secs(1);

/// Whether the agent advertises it.
pub(super) fn is_offered(agent: &AgentInfo) -> bool {
    agent.answer["_meta"]["steering"]["supported"] == true
}

/// Hands a message to the turn that runs until `over`.
pub(super) async fn send(
    session: &Session,
    content: &[ContentBlock],
    over: &CancellationToken,
) -> Result<(), SteerError> {
    let connection = session.connection();
    let command = || connection.command().to_owned();
    if !connection.turns().is_running() {
        return Err(SteerError::Settled);
    }
    let params = json!({
        "sessionId": session.id(),
        "prompt": content,
        // An agent that is idle by then is not to begin a turn that nobody waits for.
        "_meta": { "steering": { "idleBehavior": "promptRequired" } },
    });
    let overtaken = async {
        over.cancelled().await;
        tokio::time::sleep(OVERTAKEN).await;
    };
    let answer = tokio::select! {
        biased;
        answer = connection.link().call("_session/steering", params) => answer,
        () = overtaken => return Err(SteerError::failed(AcpSteerError::Unanswered { command: command() })),
    };
    match answer {
        Ok(answer) => match text_at(&answer, "outcome").as_deref() {
            Some("injected") => Ok(()),
            Some("promptRequired") => Err(SteerError::Settled),
            Some("startedNewTurn") => {
                // Nobody waits for that turn, and what it says must not be taken for the next one's.
                connection.link().notify("session/cancel", json!({ "sessionId": session.id() }));
                connection.turns().poison_idle();
                Err(SteerError::Settled)
            }
            outcome => {
                let outcome = connection.hide(outcome.unwrap_or("nothing"));
                Err(SteerError::failed(AcpSteerError::NotInjected { command: command(), outcome }))
            }
        },
        Err(CallError::Answered(mut answer)) => {
            answer.message = connection.hide(&answer.message);
            Err(SteerError::failed(AcpSteerError::Refused { command: command(), answer }))
        }
        Err(CallError::Gone) => Err(SteerError::Settled),
    }
}
