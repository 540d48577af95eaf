use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures::{FutureExt, StreamExt};
use serde_json::{Map, Value};

use crate::agent::activity::Activity;
use crate::agent::limits::Limits;
use crate::agent::model::{FinishReason, Model, ModelError, ModelEvent, ModelRequest};
use crate::agent::session::ToolCall;
use crate::agent::turn_options::TurnOptions;
use crate::content::ContentBlock;
use crate::update::Update;
use crate::usage::ModelUsage;

/// No model's tokens are longer than this on average, so a response that is has passed its cap unnoticed.
const MOST_BYTES_PER_TOKEN: usize = 16;

/// What was received of a response.
#[derive(Default)]
pub(super) struct Reply {
    pub(super) content: Vec<ContentBlock>,
    pub(super) thought: String,
    pub(super) calls: Vec<RawCall>,
    pub(super) usage: Vec<ModelUsage>,
    pub(super) end: ReplyEnd,
    bytes: usize,
}

/// How a response ended.
#[derive(Default)]
pub(super) enum ReplyEnd {
    Finished(FinishReason),
    Failed(ModelError),
    Panicked,
    TooLong,
    Idle,
    #[default]
    Cancelled,
}

/// A tool call as the model wrote it.
pub(super) struct RawCall {
    id: String,
    name: String,
    arguments: String,
}

impl RawCall {
    /// The call for the log, and what is wrong with its arguments.
    pub(super) fn parse(self) -> (ToolCall, Option<String>) {
        let text = self.arguments.trim();
        let parsed =
            if text.is_empty() { Ok(Map::new()) } else { serde_json::from_str::<Map<String, Value>>(text) };
        let (arguments, malformed) = match parsed {
            Ok(arguments) => (Value::Object(arguments), None),
            Err(error) => (Value::String(self.arguments), Some(error.to_string())),
        };
        (ToolCall::new(self.id, self.name, arguments), malformed)
    }
}

/// Makes one model call and takes in its response until it ends, one way or another.
pub(super) async fn receive(
    model: &dyn Model,
    request: ModelRequest,
    limits: &Limits,
    activity: &Activity,
    options: &TurnOptions,
) -> Reply {
    let mut reply = Reply::default();
    let most_bytes = limits.output_tokens.map_or(limits.response_bytes, |tokens| {
        let tokens = usize::try_from(tokens.get()).unwrap_or(usize::MAX);
        tokens.saturating_mul(MOST_BYTES_PER_TOKEN).min(limits.response_bytes)
    });
    // Whatever ends the response, the model hears that it is not needed any more.
    let _stop = request.cancellation.clone().drop_guard();
    let Ok(mut events) = std::panic::catch_unwind(AssertUnwindSafe(|| model.stream(request))) else {
        reply.end = panicked(model);
        return reply;
    };
    let mut idle = pin!(activity.idle(limits.idle));
    reply.end = loop {
        let event = tokio::select! {
            biased;
            () = options.cancellation.cancelled() => break ReplyEnd::Cancelled,
            event = AssertUnwindSafe(events.next()).catch_unwind() => event,
            () = &mut idle => break ReplyEnd::Idle,
        };
        activity.touch();
        match event {
            Ok(Some(Ok(ModelEvent::Finish(reason)))) => break ReplyEnd::Finished(reason),
            Ok(Some(Ok(event))) => reply.take(event, model.name(), options),
            Ok(Some(Err(error))) => break ReplyEnd::Failed(error),
            Ok(None) => break ReplyEnd::Failed(ModelError::CutStream { source: None }),
            Err(_) => break panicked(model),
        }
        if reply.bytes > most_bytes {
            break ReplyEnd::TooLong;
        }
        // A model that is always ready must not keep the runtime from delivering a cancellation.
        tokio::task::coop::consume_budget().await;
    };
    reply
}

impl Reply {
    fn take(&mut self, event: ModelEvent, model: &str, options: &TurnOptions) {
        // An event of no length still counts, so that endless ones end too.
        self.bytes = self.bytes.saturating_add(1);
        match event {
            ModelEvent::Text(text) if !text.is_empty() => {
                self.bytes = self.bytes.saturating_add(text.len() - 1);
                match self.content.last_mut() {
                    Some(ContentBlock::Text(last)) => last.text.push_str(&text),
                    _ => self.content.push(ContentBlock::text(&text)),
                }
                (options.updates)(Update::Text { text });
            }
            ModelEvent::Thought(text) if !text.is_empty() => {
                self.bytes = self.bytes.saturating_add(text.len() - 1);
                self.thought.push_str(&text);
                (options.updates)(Update::Thought { text });
            }
            ModelEvent::Content(block) => self.content.push(block),
            ModelEvent::ToolCall { id, name, arguments } => {
                self.bytes = self.bytes.saturating_add(arguments.len());
                self.calls.push(RawCall { id, name, arguments });
            }
            ModelEvent::Usage(mut usage) => {
                usage.model.get_or_insert_with(|| model.into());
                options.usage.add(&usage);
                self.usage.push(usage.clone());
                (options.updates)(Update::Usage(usage));
            }
            ModelEvent::Text(_) | ModelEvent::Thought(_) | ModelEvent::Finish(_) => {}
        }
    }
}

fn panicked(model: &dyn Model) -> ReplyEnd {
    tracing::warn!(model = model.name(), "the model panicked");
    ReplyEnd::Panicked
}
