use futures::stream::{self, Stream, StreamExt};
use genai::chat::{ChatStream, ChatStreamEvent, MessageContent, StopReason, StreamEnd, ToolCall, Usage};
use genai::{Client, ModelIden};
use serde_json::Value;
use uuid::Uuid;

use super::failure::{Redaction, failure};
use super::request::Call;
use crate::agent::model::{FinishReason, ModelError, ModelEvent, ModelStream};
use crate::usage::ModelUsage;

/// The response to one call. It owns the connection: dropping it closes that.
pub(super) fn stream(
    client: &Client,
    identity: &ModelIden,
    call: Call,
    redaction: &Redaction,
) -> ModelStream {
    let (client, identity, redaction) = (client.clone(), identity.clone(), redaction.clone());
    let opened = async move {
        match client.exec_chat_stream(identity, call.chat, Some(&call.options)).await {
            Ok(response) => events(response.stream, redaction).left_stream(),
            Err(error) => stream::iter([Err(failure(error, &redaction))]).right_stream(),
        }
    };
    ModelStream::new(stream::once(opened).flatten())
}

fn events(
    chat: ChatStream,
    redaction: Redaction,
) -> impl Stream<Item = Result<ModelEvent, ModelError>> + Send {
    stream::unfold(Some((chat, redaction)), |state| async {
        let (mut chat, redaction) = state?;
        let (events, goes_on) = match chat.next().await {
            Some(Ok(ChatStreamEvent::Chunk(chunk))) => (vec![Ok(ModelEvent::Text(chunk.content))], true),
            Some(Ok(ChatStreamEvent::ReasoningChunk(chunk))) => {
                (vec![Ok(ModelEvent::Thought(chunk.content))], true)
            }
            // The end has every call whole.
            Some(Ok(
                ChatStreamEvent::Start
                | ChatStreamEvent::ToolCallChunk(_)
                | ChatStreamEvent::ThoughtSignatureChunk(_)
                | ChatStreamEvent::Heartbeat,
            )) => (Vec::new(), true),
            Some(Ok(ChatStreamEvent::End(end))) => (ending(end).into_iter().map(Ok).collect(), false),
            Some(Err(error)) => (vec![Err(failure(error, &redaction))], false),
            None => (vec![Err(ModelError::CutStream { source: None })], false),
        };
        Some((stream::iter(events), goes_on.then_some((chat, redaction))))
    })
    .flatten()
}

fn ending(end: StreamEnd) -> Vec<ModelEvent> {
    let usage = end.captured_usage.as_ref().and_then(model_usage).map(ModelEvent::Usage);
    let calls = end.captured_content.map(MessageContent::into_tool_calls).unwrap_or_default();
    let reason = finish_reason(end.captured_stop_reason, !calls.is_empty());
    let calls = calls.into_iter().enumerate().map(|(index, call)| tool_call(index, call));
    usage.into_iter().chain(calls).chain([ModelEvent::Finish(reason)]).collect()
}

fn tool_call(index: usize, call: ToolCall) -> ModelEvent {
    // Where the vendor gives no id, `genai` counts anew in every response.
    let id = if call.call_id.is_empty() || call.call_id == format!("call_{index}") {
        format!("call-{}", Uuid::now_v7())
    } else {
        call.call_id
    };
    let arguments = match call.fn_arguments {
        Value::String(as_written) => as_written,
        Value::Null => String::new(),
        parsed => parsed.to_string(),
    };
    ModelEvent::ToolCall { id, name: call.fn_name, arguments }
}

fn finish_reason(reason: Option<StopReason>, has_calls: bool) -> FinishReason {
    match reason {
        Some(StopReason::MaxTokens(_)) => FinishReason::MaxTokens,
        Some(StopReason::ContentFilter(_)) => FinishReason::Refusal,
        Some(StopReason::Other(word)) => FinishReason::Other(word),
        Some(StopReason::Completed(_) | StopReason::ToolCall(_) | StopReason::StopSequence(_)) | None => {
            if has_calls {
                FinishReason::ToolCalls
            } else {
                FinishReason::Stop
            }
        }
    }
}

fn model_usage(usage: &Usage) -> Option<ModelUsage> {
    let input = usage.prompt_tokens_details.as_ref();
    let output = usage.completion_tokens_details.as_ref();
    let usage = ModelUsage {
        model: None,
        input_tokens: count(usage.prompt_tokens),
        output_tokens: count(usage.completion_tokens),
        cache_read_tokens: count(input.and_then(|details| details.cached_tokens)),
        cache_write_tokens: count(input.and_then(|details| details.cache_creation_tokens)),
        reasoning_tokens: count(output.and_then(|details| details.reasoning_tokens)),
    };
    (usage != ModelUsage::default()).then_some(usage)
}

fn count(tokens: Option<i32>) -> Option<u64> {
    tokens.and_then(|tokens| u64::try_from(tokens).ok())
}
