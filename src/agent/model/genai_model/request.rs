use std::collections::HashMap;

use genai::chat::{
    Binary, ChatMessage, ChatOptions, ChatRequest, ContentPart, JsonSpec, MessageContent, Tool, ToolCall,
    ToolChoice as VendorToolChoice, ToolResponse,
};
use serde_json::json;

use crate::agent::model::{Message, ModelError, ModelRequest, ToolChoice};
use crate::agent::session;
use crate::content::{ContentBlock, ResourceContents};

/// One call, in the words of `genai`.
pub(super) struct Call {
    pub(super) chat: ChatRequest,
    pub(super) options: ChatOptions,
}

pub(super) fn prepare(request: &ModelRequest, takes_format: bool) -> Result<Call, ModelError> {
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_tool_calls(true)
        .with_capture_reasoning_content(true);
    if let Some(tokens) = request.max_output_tokens {
        options = options.with_max_tokens(tokens.get());
    }
    if let Some(format) = &request.response_format {
        if !takes_format {
            return Err(ModelError::bad_request("it is not declared to take a response format"));
        }
        options = options.with_response_format(JsonSpec::new(&format.name, (*format.schema).clone()));
    }
    let mut chat = ChatRequest::new(messages(request)?);
    chat.system = request.system_prompt.as_deref().map(Into::into);
    if !request.tools.is_empty() {
        chat.tools = Some(request.tools.definitions().map(tool).collect());
        if request.tool_choice == ToolChoice::None {
            options = options.with_tool_choice(VendorToolChoice::None);
        }
    }
    Ok(Call { chat, options })
}

fn tool(definition: &crate::agent::tool::ToolDefinition) -> Tool {
    Tool::new(&definition.name)
        .with_description(&definition.description)
        .with_schema(definition.input_schema.clone())
}

fn messages(request: &ModelRequest) -> Result<Vec<ChatMessage>, ModelError> {
    // Some vendors match a result with its call by the tool's name.
    let mut tool_names = HashMap::new();
    let mut messages = Vec::new();
    for message in request.messages() {
        match message {
            Message::User { content } => {
                messages.push(ChatMessage::user(MessageContent::from_parts(parts(content)?)));
            }
            Message::Assistant { content, thought, tool_calls } => {
                let thought = thought.map(|thought| ContentPart::ReasoningContent(thought.to_owned()));
                let mut said: Vec<_> = thought.into_iter().chain(parts(content)?).collect();
                for call in tool_calls {
                    tool_names.insert(&call.id, &call.name);
                    said.push(ContentPart::ToolCall(tool_call(call)));
                }
                messages.push(ChatMessage::assistant(MessageContent::from_parts(said)));
            }
            Message::ToolResults { results } => {
                let responses: Result<Vec<_>, _> = results
                    .into_iter()
                    .map(|result| {
                        let mut response = ToolResponse::new(&result.id, result_text(result)?);
                        response.fn_name = tool_names.get(&result.id).map(|name| (*name).clone());
                        Ok::<_, ModelError>(response)
                    })
                    .collect();
                messages.push(ChatMessage::from(responses?));
            }
        }
    }
    Ok(messages)
}

fn tool_call(call: &session::ToolCall) -> ToolCall {
    // Vendors refuse arguments that are not an object, also those that the model wrote itself.
    let arguments = match &call.arguments {
        object if object.is_object() => object.clone(),
        malformed => json!({ "malformed_arguments": malformed }),
    };
    ToolCall {
        call_id: call.id.clone(),
        fn_name: call.name.clone(),
        fn_arguments: arguments,
        thought_signatures: None,
    }
}

/// `genai` has no mark for a failed call, so the text says it.
fn result_text(result: &session::ToolResult) -> Result<String, ModelError> {
    let mut text = if result.is_error { "Error: ".to_owned() } else { String::new() };
    for block in &result.content {
        match readable_text(block) {
            Some(block) => text.push_str(block),
            None => {
                return Err(ModelError::bad_request(format!(
                    "a tool returned content of kind {}, and a tool's result can only be text here",
                    block.kind()
                )));
            }
        }
    }
    Ok(text)
}

fn parts(content: &[ContentBlock]) -> Result<Vec<ContentPart>, ModelError> {
    content
        .iter()
        .map(|block| match block {
            ContentBlock::Image(image) => Ok(binary(&image.mime_type, &image.data)),
            ContentBlock::Audio(audio) => Ok(binary(&audio.mime_type, &audio.data)),
            other => readable_text(other).map(ContentPart::from_text).ok_or_else(|| {
                ModelError::bad_request(format!("content of kind {} cannot be sent", other.kind()))
            }),
        })
        .collect()
}

fn binary(mime_type: &str, base64: &str) -> ContentPart {
    ContentPart::Binary(Binary::from_base64(mime_type, base64, None))
}

fn readable_text(block: &ContentBlock) -> Option<&str> {
    match block {
        ContentBlock::Text(text) => Some(&text.text),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::Text { text, .. } => Some(text),
            ResourceContents::Blob { .. } => None,
        },
        _ => None,
    }
}
