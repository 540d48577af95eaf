use std::sync::Arc;

use agent_client_protocol::{
    Agent, ConnectionTo, Dispatch, Error, HandleDispatchFrom, Handled, Responder, UntypedMessage,
};
use serde_json::{Value, json};

use super::link::Shared;
use super::permission::{PermissionOutcome, PermissionRequest};
use super::turn::{HeldPermission, TurnEvent};
use super::wire::agent_error;
use crate::update::Update;

/// Takes what an agent sends, one message after the other.
pub(super) struct Inbound(Arc<Shared>);

impl Inbound {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self(shared)
    }

    async fn request(
        &self,
        message: UntypedMessage,
        responder: Responder,
        connection: &ConnectionTo<Agent>,
    ) -> Result<(), Error> {
        // Answers that the child does not read hold up its further requests.
        match self.0.traffic.answers.acquire().await {
            Ok(permit) => permit.forget(),
            Err(_) => return Ok(()),
        }
        if message.method != "session/request_permission" {
            return responder.respond_with_error(Error::method_not_found().data(message.method));
        }
        let shared = Arc::clone(&self.0);
        let permitted = shared.served.get().is_some_and(|served| served.permits(&message.params));
        let known = if permitted { Some(PermissionOutcome::Allowed) } else { shared.permissions.at_once() };
        match known {
            Some(outcome) => {
                answer(&shared, outcome, message.params, responder).await;
                Ok(())
            }
            // A decision may take long; messages go on meanwhile.
            None => connection.spawn(async move {
                ask(&shared, message.params, responder).await;
                Ok(())
            }),
        }
    }
}

impl HandleDispatchFrom<Agent> for Inbound {
    async fn handle_dispatch_from(
        &mut self,
        message: Dispatch,
        connection: ConnectionTo<Agent>,
    ) -> Result<Handled<Dispatch>, Error> {
        self.0.traffic.taken.notify_one();
        match message {
            Dispatch::Notification(message) => {
                if message.method == "session/update" {
                    self.0.turns.update(message.params).await;
                }
            }
            Dispatch::Request(message, responder) => self.request(message, responder, &connection).await?,
            Dispatch::Response(result, router) => {
                let reply = result.map_err(|error| {
                    agent_error(error.code.value().into(), &error.message, error.data.as_ref())
                });
                self.0.answered(router.raw_id(), reply).await;
            }
        }
        Ok(Handled::Yes)
    }

    fn describe_chain(&self) -> impl std::fmt::Debug {
        "subagent"
    }
}

/// Answers a request whose outcome the policy knows.
async fn answer(shared: &Shared, outcome: PermissionOutcome, params: Value, responder: Responder) {
    match shared.turns.permission() {
        Some(held) => finish(&held, outcome, &params, responder).await,
        None => reply(responder, PermissionOutcome::Cancelled, &params),
    }
}

/// Answers a request that somebody has to decide, unless its turn is cancelled or over before.
async fn ask(shared: &Shared, params: Value, responder: Responder) {
    let Some(held) = shared.turns.permission() else {
        return reply(responder, PermissionOutcome::Cancelled, &params);
    };
    let outcome = tokio::select! {
        biased;
        () = held.over.cancelled() => PermissionOutcome::Cancelled,
        outcome = shared.permissions.decide(PermissionRequest::parse(&params)) => outcome,
    };
    finish(&held, outcome, &params, responder).await;
}

async fn finish(held: &HeldPermission<'_>, outcome: PermissionOutcome, params: &Value, responder: Responder) {
    reply(responder, outcome, params);
    drop(held.events.send(TurnEvent::Update(told(outcome, params))).await);
}

fn reply(responder: Responder, outcome: PermissionOutcome, params: &Value) {
    if responder.respond(outcome.answer(params)).is_err() {
        tracing::debug!("an ACP child is gone before its permission request was answered");
    }
}

fn told(outcome: PermissionOutcome, params: &Value) -> Update {
    let call = &params["toolCall"];
    Update::Other {
        kind: "permission".to_owned(),
        data: json!({
            "tool_call_id": call["toolCallId"],
            "title": call["title"],
            "outcome": outcome.as_str(),
            "answer": outcome.answer(params)["outcome"],
        }),
    }
}
