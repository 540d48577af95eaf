use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use agent_client_protocol::{Agent, Builder, Channel, Client, ConnectionTo, RawJsonRpcId, UntypedMessage};
use serde_json::Value;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, JoinHandle};
use tokio_util::sync::CancellationToken;

use super::error::AcpAgentError;
use super::inbound::Inbound;
use super::mcp::Served;
use super::permission::PermissionPolicy;
use super::process::ProcessGroup;
use super::transport::{OutputEnd, Traffic};
use super::turn::Turns;

/// How long what we still have to say may take once the link is to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// An agent's answer to a request.
pub(super) type Reply = Result<Value, AcpAgentError>;

/// Why a request has no result.
#[derive(Debug)]
pub(super) enum CallError {
    /// The agent answered with an error.
    Answered(AcpAgentError),
    /// The agent is gone.
    Gone,
}

/// JSON-RPC with a child over its standard streams, driven by one task that this owns.
#[derive(Debug)]
pub(super) struct Link {
    shared: Arc<Shared>,
    to_agent: ConnectionTo<Agent>,
    task: AbortHandle,
    driven: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

/// What the task, the dispatch of messages and the callers share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) traffic: Arc<Traffic>,
    pub(super) turns: Turns,
    pub(super) permissions: PermissionPolicy,
    /// What the agent is served, which it may use without asking.
    pub(super) served: OnceLock<Arc<Served>>,
    waiting: Mutex<Waiting>,
    output_end: OnceLock<OutputEnd>,
    /// Told to close stdin, after what is queued.
    stop: CancellationToken,
    /// Told to close stdin at once.
    abandon: CancellationToken,
    /// The child takes no more input.
    broken: CancellationToken,
    /// Stdin is closed.
    stdin_closed: CancellationToken,
}

/// Who waits for which answer; `None` once no answer can come.
type Waiting = Option<HashMap<RawJsonRpcId, Waiter>>;

#[derive(Debug)]
enum Waiter {
    Call(oneshot::Sender<Reply>),
    Turn(u64),
}

impl Link {
    /// Connects, and drives the connection in a task.
    pub(super) async fn open(
        stdin: ChildStdin,
        stdout: ChildStdout,
        group: Arc<ProcessGroup>,
        permissions: PermissionPolicy,
        longest_line: usize,
    ) -> Option<Self> {
        let shared = Arc::new(Shared {
            traffic: Traffic::new(),
            turns: Turns::new(),
            permissions,
            served: OnceLock::new(),
            waiting: Mutex::new(Some(HashMap::new())),
            output_end: OnceLock::new(),
            stop: CancellationToken::new(),
            abandon: CancellationToken::new(),
            broken: CancellationToken::new(),
            stdin_closed: CancellationToken::new(),
        });
        let (connected, connection) = oneshot::channel();
        let task = tokio::spawn(drive(Arc::clone(&shared), stdin, stdout, group, longest_line, connected));
        let Ok(to_agent) = connection.await else {
            task.abort();
            return None;
        };
        Some(Self { shared, to_agent, task: task.abort_handle(), driven: Some(task).into() })
    }

    pub(super) fn turns(&self) -> &Turns {
        &self.shared.turns
    }

    pub(super) fn serve(&self, served: &Arc<Served>) {
        drop(self.shared.served.set(Arc::clone(served)));
    }

    pub(super) fn traffic(&self) -> &Traffic {
        &self.shared.traffic
    }

    /// Why the output is read no further, once it is not.
    pub(super) fn output_end(&self) -> Option<&OutputEnd> {
        self.shared.output_end.get()
    }

    /// Whether the child closed its stdin.
    pub(super) fn is_broken(&self) -> bool {
        self.shared.broken.is_cancelled()
    }

    /// Sends a request and waits for its answer.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the request stays sent and its answer is dropped.
    pub(super) async fn call(&self, method: &str, params: Value) -> Result<Value, CallError> {
        let (tx, rx) = oneshot::channel();
        self.send(method, params, Waiter::Call(tx))?;
        match rx.await {
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => Err(CallError::Answered(error)),
            Err(_) => Err(CallError::Gone),
        }
    }

    /// Sends the request whose answer ends a turn.
    pub(super) fn prompt(&self, params: Value, turn: u64) -> Result<(), CallError> {
        self.send("session/prompt", params, Waiter::Turn(turn))
    }

    pub(super) fn notify(&self, method: &str, params: Value) {
        let message = UntypedMessage { method: method.to_owned(), params };
        if self.to_agent.send_notification(message).is_err() {
            tracing::debug!(method, "an ACP child is gone before it could be told");
        }
    }

    fn send(&self, method: &str, params: Value, waiter: Waiter) -> Result<(), CallError> {
        let message = UntypedMessage { method: method.to_owned(), params };
        let request = self.to_agent.prepare_request(message);
        let id = request.raw_id().clone();
        // Known before it is sent: the answer may come at once.
        let mut waiting = self.shared.waiting();
        waiting.as_mut().ok_or(CallError::Gone)?.insert(id.clone(), waiter);
        drop(waiting);
        if request.detach().is_err() {
            if let Some(waiting) = self.shared.waiting().as_mut() {
                waiting.remove(&id);
            }
            return Err(CallError::Gone);
        }
        Ok(())
    }

    /// Closes the child's stdin, after what is queued if the child takes it soon. Its output is still read.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, stdin may stay open until the link is dropped.
    pub(super) async fn close_stdin(&self) {
        self.shared.stop.cancel();
        if tokio::time::timeout(LAST_WORDS, self.shared.stdin_closed.cancelled()).await.is_err() {
            self.shared.abandon.cancel();
            self.shared.stdin_closed.cancelled().await;
        }
    }

    /// Waits for the end of the task, once the child is gone; closes the child's streams. What the child wrote
    /// before is taken, if whoever listens takes it soon.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the task is aborted.
    pub(super) async fn finish(&self) {
        let Some(mut task) = self.driven.lock().await.take() else { return };
        if tokio::time::timeout(LAST_WORDS, &mut task).await.is_err() {
            task.abort();
            drop(task.await);
            *self.shared.waiting() = None;
            self.shared.turns.lost();
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    /// An answer to a request of ours arrived.
    pub(super) async fn answered(&self, id: &RawJsonRpcId, reply: Reply) {
        let waiter = self.waiting().as_mut().and_then(|waiting| waiting.remove(id));
        match waiter {
            // Its caller may have left.
            Some(Waiter::Call(tx)) => drop(tx.send(reply)),
            Some(Waiter::Turn(number)) => self.turns.answered(number, reply).await,
            None => {}
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn drive(
    shared: Arc<Shared>,
    stdin: ChildStdin,
    stdout: ChildStdout,
    group: Arc<ProcessGroup>,
    longest_line: usize,
    connected: oneshot::Sender<ConnectionTo<Agent>>,
) {
    let (theirs, ours) = Channel::duplex();
    let (to_child, from_child) = ours.into_parts();
    let receiving = async {
        let gone = async {
            tokio::select! {
                _ = group.exited() => {}
                () = shared.broken.cancelled() => {}
            }
        };
        let end = shared.traffic.receive(stdout, longest_line, gone, from_child).await;
        drop(shared.output_end.set(end));
    };
    let sending = async {
        tokio::select! {
            () = shared.traffic.send(stdin, to_child, &shared.broken) => {}
            () = shared.abandon.cancelled() => {}
        }
        shared.stdin_closed.cancel();
    };
    let dispatching = async {
        let stop = shared.stop.clone();
        let result = Builder::new_with(Client, Inbound::new(Arc::clone(&shared)))
            .connect_with(theirs, async move |connection: ConnectionTo<Agent>| {
                if connected.send(connection.clone()).is_ok() {
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = connection.incoming_closed() => {}
                    }
                }
                Ok(())
            })
            .await;
        if let Err(error) = result {
            // The message may quote the child.
            tracing::warn!(code = error.code.value(), "the connection to an ACP child failed");
        }
        *shared.waiting() = None;
        shared.turns.lost();
    };
    tokio::join!(receiving, sending, dispatching);
}
