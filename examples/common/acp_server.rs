//! The built-in agent behind the Agent Client Protocol, over this process's standard streams.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use agent_client_protocol as acp;
use agent_client_protocol::v1::schema;
use agent_client_protocol::v1::schema::SessionUpdate;
use serde_json::json;
use subagent::agent::{Agent, TurnOptions};
use subagent::{ContentBlock, SessionId, StopReason, Update};
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};
use tokio_util::sync::CancellationToken;

/// Serves an agent for each session until stdin ends.
pub(crate) async fn serve(new_agent: impl Fn() -> Agent + Send + Sync + 'static) -> acp::Result<()> {
    let opened = Arc::new(Sessions::default());
    let (prompted, cancelled) = (Arc::clone(&opened), Arc::clone(&opened));
    acp::Agent
        .v1()
        .name("subagent")
        .on_receive_request(
            async move |initialize: schema::InitializeRequest, responder, _| {
                responder.respond(schema::InitializeResponse::new(initialize.protocol_version))
            },
            acp::on_receive_request!(),
        )
        .on_receive_request(
            async move |_: schema::NewSessionRequest, responder, _| {
                responder.respond(schema::NewSessionResponse::new(opened.open(new_agent())))
            },
            acp::on_receive_request!(),
        )
        .on_receive_request(
            async move |request: schema::PromptRequest, responder, client| {
                let Some(session) = prompted.find(&request.session_id) else {
                    return responder.respond_with_error(acp::Error::invalid_params());
                };
                let cancellation = CancellationToken::new();
                *lock(&session.cancellation) = cancellation.clone();
                let turn = session.turn(request, cancellation, client.clone());
                client.spawn(async move { responder.respond_with_result(turn.await) })
            },
            acp::on_receive_request!(),
        )
        .on_receive_notification(
            async move |cancel: schema::CancelNotification, _| {
                if let Some(session) = cancelled.find(&cancel.session_id) {
                    lock(&session.cancellation).cancel();
                }
                Ok(())
            },
            acp::on_receive_notification!(),
        )
        .connect_to(acp::ByteStreams::new(tokio::io::stdout().compat_write(), tokio::io::stdin().compat()))
        .await
}

#[derive(Default)]
struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

struct Session {
    agent: tokio::sync::Mutex<Agent>,
    /// Of the turn that is under way.
    cancellation: Mutex<CancellationToken>,
}

impl Sessions {
    fn open(&self, agent: Agent) -> String {
        let id = SessionId::new().to_string();
        let session = Session { agent: agent.into(), cancellation: Mutex::default() };
        lock(&self.0).insert(id.clone(), Arc::new(session));
        id
    }

    fn find(&self, id: &schema::SessionId) -> Option<Arc<Session>> {
        lock(&self.0).get(&*id.0).cloned()
    }
}

impl Session {
    /// A turn, which tells the client of its progress.
    async fn turn(
        self: Arc<Self>,
        request: schema::PromptRequest,
        cancellation: CancellationToken,
        client: acp::v1::ConnectionTo<acp::Client>,
    ) -> acp::Result<schema::PromptResponse> {
        // Both sides write content as the protocol does.
        let prompt: Vec<ContentBlock> = serde_json::from_value(json!(request.prompt))?;
        let options =
            TurnOptions::new().cancellation(cancellation).on_update(move |update| {
                if let Some(update) = told(update) {
                    // A client that has left needs no progress.
                    drop(client.send_notification(schema::SessionNotification::new(
                        request.session_id.clone(),
                        update,
                    )));
                }
            });
        let outcome = self.agent.lock().await.run_turn(prompt, options).await;
        Ok(schema::PromptResponse::new(match outcome.stop_reason {
            StopReason::Completed => schema::StopReason::EndTurn,
            StopReason::Aborted => schema::StopReason::Cancelled,
            StopReason::MaxTokens => schema::StopReason::MaxTokens,
            StopReason::TurnLimit => schema::StopReason::MaxTurnRequests,
            StopReason::Refusal => schema::StopReason::Refusal,
            other => {
                let text = outcome.diagnostic.unwrap_or_else(|| other.to_string());
                return Err(acp::Error::new(-32603, text));
            }
        }))
    }
}

/// An update in the words of the protocol.
fn told(update: Update) -> Option<SessionUpdate> {
    let written = match update {
        Update::Text { text } => {
            json!({ "sessionUpdate": "agent_message_chunk", "content": ContentBlock::text(text) })
        }
        Update::Thought { text } => {
            json!({ "sessionUpdate": "agent_thought_chunk", "content": ContentBlock::text(text) })
        }
        Update::ToolCall { id, name, arguments } => {
            json!({ "sessionUpdate": "tool_call", "toolCallId": id, "title": name, "rawInput": arguments })
        }
        Update::ToolResult { id, content, is_error } => json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": id,
            "status": if is_error { "failed" } else { "completed" },
            "content": content.iter().map(|block| json!({ "type": "content", "content": block })).collect::<Vec<_>>(),
        }),
        _ => return None,
    };
    serde_json::from_value(written).ok()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
