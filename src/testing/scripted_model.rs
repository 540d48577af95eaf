use std::collections::VecDeque;
use std::fmt;
use std::future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::stream;
use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::time;

use crate::agent::{FinishReason, Model, ModelError, ModelEvent, ModelRequest, ModelStream};
use crate::content::ContentKinds;
use crate::usage::ModelUsage;

/// A model that plays a list of replies, one per call, and keeps the requests that it saw. Clones are one model.
///
/// ```
/// use serde_json::json;
/// use subagent::testing::{ScriptedModel, ScriptedReply};
///
/// let model = ScriptedModel::new()
///     .reply(ScriptedReply::new().text("Let me look.").tool_call("1", "read", json!({"path": "notes.txt"})))
///     .reply(ScriptedReply::new().text("Done.").usage(12, 3));
/// ```
#[derive(Debug, Clone)]
pub struct ScriptedModel {
    name: Arc<str>,
    content_kinds: ContentKinds,
    response_format: bool,
    shared: Arc<Shared>,
}

impl ScriptedModel {
    /// A model named `scripted` without a reply: every call fails as a bad request.
    #[must_use]
    pub fn new() -> Self {
        Self {
            name: "scripted".into(),
            content_kinds: ContentKinds::TEXT,
            response_format: false,
            shared: Arc::default(),
        }
    }

    /// Sets the model's name.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the kinds of content that the model reads; text alone by default.
    #[must_use]
    pub fn reading(mut self, kinds: ContentKinds) -> Self {
        self.content_kinds = kinds;
        self
    }

    /// The model declares a native response format.
    #[must_use]
    pub fn with_response_format(mut self) -> Self {
        self.response_format = true;
        self
    }

    /// Adds the reply to the next call that has none yet.
    #[must_use]
    pub fn reply(self, reply: ScriptedReply) -> Self {
        self.script().replies.push_back(Answer::Fixed(reply));
        self
    }

    /// Adds a reply to the next call that has none yet, made from what the model is asked: to quote a tool's result,
    /// for example.
    #[must_use]
    pub fn reply_with(self, answer: impl Fn(&ModelRequest) -> ScriptedReply + Send + Sync + 'static) -> Self {
        self.script().replies.push_back(Answer::Computed(Arc::new(answer)));
        self
    }

    /// Sets the reply to all calls after the list is played.
    #[must_use]
    pub fn then_always(self, reply: ScriptedReply) -> Self {
        self.script().rest = Some(Answer::Fixed(reply));
        self
    }

    /// Sets how all calls after the list is played are answered.
    #[must_use]
    pub fn then_always_with(
        self,
        answer: impl Fn(&ModelRequest) -> ScriptedReply + Send + Sync + 'static,
    ) -> Self {
        self.script().rest = Some(Answer::Computed(Arc::new(answer)));
        self
    }

    /// The requests so far, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.script().requests.clone()
    }

    /// Waits until the model was called `count` times.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn called(&self, count: usize) {
        let mut calls = self.shared.calls.subscribe();
        // The sender lives as long as `self`, so this cannot fail.
        calls.wait_for(|calls| *calls >= count).await.ok();
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.shared.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self::new()
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let answer = {
            let mut script = self.script();
            script.requests.push(request.clone());
            let next = script.replies.pop_front();
            next.or_else(|| script.rest.clone())
        };
        self.shared.calls.send_modify(|calls| *calls += 1);
        match answer {
            Some(Answer::Fixed(reply)) => reply.play_to(&request),
            Some(Answer::Computed(answer)) => answer(&request).play_to(&request),
            None => ModelStream::failed(ModelError::bad_request("the script has no reply left")),
        }
    }

    fn content_kinds(&self) -> ContentKinds {
        self.content_kinds
    }

    fn has_response_format(&self) -> bool {
        self.response_format
    }
}

/// What a [`ScriptedModel`] does in one call, in the order of the method calls.
///
/// A reply that does not end in [`finish`](Self::finish), [`error`](Self::error) or [`cut`](Self::cut) finishes at its
/// end: for tool calls where it has some, else because it is done.
#[derive(Debug, Clone, Default)]
pub struct ScriptedReply(Vec<Beat>);

impl ScriptedReply {
    /// An empty reply.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A piece of text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.event(ModelEvent::text(text))
    }

    /// A piece of reasoning.
    #[must_use]
    pub fn thought(self, text: impl Into<String>) -> Self {
        self.event(ModelEvent::thought(text))
    }

    /// A call of a tool that the request offers: the child's own tools, and `deliver_result`, with which an in-process
    /// child delivers a structured value. A name that the request does not offer fails the call and names those that it
    /// does, so that a misspelt one shows; a model that calls what there is not is played with [`event`](Self::event).
    #[expect(clippy::needless_pass_by_value, reason = "reads better at the call: `json!({…})`")]
    #[must_use]
    pub fn tool_call(self, id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        self.then(Beat::KnownCall(ModelEvent::tool_call(id, name, &arguments)))
    }

    /// What the call used.
    #[must_use]
    pub fn usage(self, input_tokens: u64, output_tokens: u64) -> Self {
        self.event(ModelEvent::Usage(ModelUsage {
            input_tokens: Some(input_tokens),
            output_tokens: Some(output_tokens),
            ..ModelUsage::default()
        }))
    }

    /// Any event, for example a tool call with malformed arguments, or of a tool that there is not.
    #[must_use]
    pub fn event(self, event: ModelEvent) -> Self {
        self.then(Beat::Event(event))
    }

    /// Waits.
    #[must_use]
    pub fn delay(self, duration: Duration) -> Self {
        self.then(Beat::Delay(duration))
    }

    /// Waits for a notification.
    #[must_use]
    pub fn until(self, notify: &Arc<Notify>) -> Self {
        self.then(Beat::Until(Arc::clone(notify)))
    }

    /// Goes silent for ever: the reply ends when its stream is dropped.
    #[must_use]
    pub fn hang(self) -> Self {
        self.then(Beat::Hang)
    }

    /// Repeats a piece of text for ever.
    #[must_use]
    pub fn endless(self, text: impl Into<String>) -> Self {
        self.then(Beat::Endless(text.into()))
    }

    /// Finishes for this reason.
    #[must_use]
    pub fn finish(self, reason: FinishReason) -> Self {
        self.event(ModelEvent::Finish(reason))
    }

    /// Fails.
    #[must_use]
    pub fn error(self, error: ModelError) -> Self {
        self.then(Beat::Fail(error))
    }

    /// Breaks off: the stream ends without having finished.
    #[must_use]
    pub fn cut(self) -> Self {
        self.then(Beat::Cut)
    }

    /// Panics.
    #[must_use]
    pub fn panic(self) -> Self {
        self.then(Beat::Panic)
    }

    fn then(mut self, beat: Beat) -> Self {
        self.0.push(beat);
        self
    }

    fn play_to(self, request: &ModelRequest) -> ModelStream {
        let unknown = self.0.iter().find_map(|beat| match beat {
            Beat::KnownCall(ModelEvent::ToolCall { name, .. }) if !request.tools.contains(name) => Some(name),
            _ => None,
        });
        if let Some(name) = unknown {
            let offered: Vec<_> = request.tools.names().collect();
            let offered = if offered.is_empty() { "none".to_owned() } else { offered.join(", ") };
            return ModelStream::failed(ModelError::bad_request(format!(
                "the script calls the tool `{name}`, and the request offers: {offered}"
            )));
        }
        let calls = self
            .0
            .iter()
            .any(|beat| matches!(beat, Beat::Event(ModelEvent::ToolCall { .. }) | Beat::KnownCall(_)));
        let reason = if calls { FinishReason::ToolCalls } else { FinishReason::Stop };
        let mut beats = VecDeque::from(self.0);
        if !matches!(beats.back(), Some(Beat::Event(ModelEvent::Finish(_)) | Beat::Fail(_))) {
            beats.push_back(Beat::Event(ModelEvent::Finish(reason)));
        }
        ModelStream::new(stream::unfold(beats, |mut beats| async move {
            loop {
                let event = match beats.pop_front()? {
                    Beat::Event(event) | Beat::KnownCall(event) => Ok(event),
                    Beat::Fail(error) => Err(error),
                    Beat::Endless(text) => {
                        beats.push_front(Beat::Endless(text.clone()));
                        Ok(ModelEvent::Text(text))
                    }
                    Beat::Cut => return None,
                    Beat::Hang => future::pending().await,
                    // No panic hook runs: the panic is part of the script and no news.
                    Beat::Panic => std::panic::resume_unwind(Box::new("the script panics here")),
                    Beat::Delay(duration) => {
                        time::sleep(duration).await;
                        continue;
                    }
                    Beat::Until(notify) => {
                        notify.notified().await;
                        continue;
                    }
                };
                return Some((event, beats));
            }
        }))
    }
}

#[derive(Debug, Clone)]
enum Beat {
    Event(ModelEvent),
    /// The call of a tool that the request has to offer.
    KnownCall(ModelEvent),
    Delay(Duration),
    Until(Arc<Notify>),
    Hang,
    Endless(String),
    Fail(ModelError),
    Cut,
    Panic,
}

#[derive(Debug, Default)]
struct Shared {
    script: Mutex<Script>,
    calls: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Script {
    replies: VecDeque<Answer>,
    rest: Option<Answer>,
    requests: Vec<ModelRequest>,
}

#[derive(Clone)]
enum Answer {
    Fixed(ScriptedReply),
    Computed(Arc<dyn Fn(&ModelRequest) -> ScriptedReply + Send + Sync>),
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(reply) => reply.fmt(f),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}
