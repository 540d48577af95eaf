use std::fmt::Write as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use subagent::{
    ContentBlock, DepthLimit, DisposeError, ModelChoice, Outcome, OutputSchema, OutputTokenLimit, Persona,
    Provider, Resumable, ResumeError, Run, Settlement, StartError, StartRequest, SteerError, Steerable,
    StepLimit, ToolFilter,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// A conversation: it supports every built-in capability, and its runs can be steered and resumed.
///
/// A turn waits for a number of messages, then repeats all that it heard in the session.
#[derive(Debug, Default)]
pub struct Chat {
    /// How many messages a turn waits for.
    pub waits_for: usize,
}

subagent::supports!(
    Chat: OutputSchema, DepthLimit, ToolFilter, Persona, ModelChoice, OutputTokenLimit, StepLimit
);

impl Provider for Chat {
    type Run = ChatRun;

    async fn start(&self, mut request: StartRequest, settlement: Settlement) -> Result<ChatRun, StartError> {
        let mut asked = String::new();
        if let Some(depth) = request.take::<DepthLimit>() {
            let _ = write!(asked, "[depth {depth}] ");
        }
        if let Some(filter) = request.take::<ToolFilter>() {
            let _ = write!(asked, "[{filter:?}] ");
        }
        if let Some(persona) = request.take::<Persona>() {
            let _ = write!(asked, "[as {persona}] ");
        }
        if let Some(model) = request.take::<ModelChoice>() {
            let _ = write!(asked, "[by {model}] ");
        }
        if let Some(tokens) = request.take::<OutputTokenLimit>() {
            let _ = write!(asked, "[{tokens} tokens] ");
        }
        if let Some(steps) = request.take::<StepLimit>() {
            let _ = write!(asked, "[{steps} steps] ");
        }
        let session = Arc::new(Session {
            asked,
            structured: request.take::<OutputSchema>().is_some(),
            waits_for: self.waits_for,
            heard: Mutex::default(),
        });
        let turn = Turn::begin(&session, request.prompt(), settlement);
        Ok(ChatRun { session, turn: Mutex::new(turn) })
    }
}

/// A conversation under way.
#[derive(Debug)]
pub struct ChatRun {
    session: Arc<Session>,
    turn: Mutex<Turn>,
}

impl Run for ChatRun {
    subagent::steerable!();
    subagent::resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        let mut turn = self.turn.into_inner().unwrap_or_else(PoisonError::into_inner);
        turn.task.abort();
        // It was cancelled, or it had ended.
        (&mut turn.task).await.ok();
        Ok(())
    }
}

impl Steerable for ChatRun {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        lock(&self.turn).inbox.send(content).map_err(|_| SteerError::Settled)
    }
}

impl Resumable for ChatRun {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        *lock(&self.turn) = Turn::begin(&self.session, &content, settlement);
        Ok(())
    }
}

/// What lasts from turn to turn.
#[derive(Debug)]
struct Session {
    asked: String,
    structured: bool,
    waits_for: usize,
    heard: Mutex<Vec<String>>,
}

impl Session {
    fn hear(&self, content: &[ContentBlock]) {
        lock(&self.heard).extend(content.iter().filter_map(ContentBlock::as_text).map(str::to_owned));
    }

    fn reply(&self) -> String {
        format!("{}{}", self.asked, lock(&self.heard).join(", "))
    }
}

#[derive(Debug)]
struct Turn {
    inbox: mpsc::UnboundedSender<Vec<ContentBlock>>,
    task: JoinHandle<()>,
}

impl Turn {
    fn begin(session: &Arc<Session>, prompt: &[ContentBlock], settlement: Settlement) -> Self {
        session.hear(prompt);
        let (inbox, messages) = mpsc::unbounded_channel();
        let task = tokio::spawn(converse(Arc::clone(session), messages, settlement));
        Self { inbox, task }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(
    session: Arc<Session>,
    mut messages: mpsc::UnboundedReceiver<Vec<ContentBlock>>,
    settlement: Settlement,
) {
    let cancellation = settlement.cancellation();
    for _ in 0..session.waits_for {
        tokio::select! {
            message = messages.recv() => session.hear(&message.unwrap_or_default()),
            () = cancellation.cancelled() => break,
        }
    }
    messages.close();
    let mut rest = Vec::new();
    while let Some(message) = messages.recv().await {
        rest.push(message);
    }
    let outcome = if let Some(cause) = cancellation.cause() {
        Outcome::new(cause.stop_reason()).with_output(session.reply()).with_undelivered(rest)
    } else {
        for message in &rest {
            session.hear(message);
        }
        let reply = session.reply();
        let outcome = Outcome::completed(reply.clone());
        if session.structured { outcome.with_structured(reply.into()) } else { outcome }
    };
    settlement.settle(outcome);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
