//! What vendors write, in the shapes of their protocols.

use serde_json::{Value, json};
use subagent::testing::model_conformance::ModelCase;

use super::vendor::Answer;

/// The key that no error may show.
pub(crate) const KEY: &str = "sk-very-secret-0123456789";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    OpenAi,
    Anthropic,
}

/// A part of a response.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    Thought(&'a str),
    /// Id, name and arguments.
    Call(Option<&'a str>, &'a str, &'a str),
}

impl Shape {
    pub(crate) fn model(self) -> &'static str {
        match self {
            Self::OpenAi => "openai::played",
            Self::Anthropic => "anthropic::played",
        }
    }

    /// A whole response.
    pub(crate) fn response(self, parts: &[Part<'_>], reason: &str) -> Answer {
        Answer::events([self.beginning(parts), self.ending(reason)].concat())
    }

    pub(crate) fn answer(self, case: ModelCase) -> Option<Answer> {
        let (stop, calls, cap, refusal) = match self {
            Self::OpenAi => ("stop", "tool_calls", "length", "content_filter"),
            Self::Anthropic => ("end_turn", "tool_use", "max_tokens", "refusal"),
        };
        let hello = [Part::Text("Good "), Part::Text("day")];
        Some(match case {
            ModelCase::Answers => self.response(&hello, stop),
            ModelCase::Thinks => self.response(&[Part::Thought("Hm."), Part::Text("Hello")], stop),
            ModelCase::CallsTools => self.response(
                &[
                    Part::Call(Some("id-oslo"), "look_up", r#"{"city": "Oslo"}"#),
                    Part::Call(Some("id-rome"), "look_up", r#"{"city": "Rome"}"#),
                ],
                calls,
            ),
            ModelCase::MalformedArguments => {
                self.response(&[Part::Call(Some("id-oslo"), "look_up", r#"{"city": "#)], calls)
            }
            ModelCase::ReachesCap => self.response(&hello, cap),
            ModelCase::Declines => self.response(&[], refusal),
            ModelCase::KeepsFormat => self.response(&[Part::Text(r#"{"count": 24, "unit": "h"}"#)], stop),
            ModelCase::GoesSilent => Answer::events(self.beginning(&hello)).then_goes_silent(),
            ModelCase::BreaksOff => Answer::events(self.beginning(&hello)).then_breaks_off(),
            ModelCase::BadRequest => self.refused("400 Bad Request", "", "invalid_request_error"),
            ModelCase::BadKey => self.refused("401 Unauthorized", "", "authentication_error"),
            ModelCase::RateLimited => {
                self.refused("429 Too Many Requests", "retry-after: 7\r\n", "rate_limit_error")
            }
            ModelCase::ServerFails => self.refused("500 Internal Server Error", "", "api_error"),
            ModelCase::Garbage => Answer::events(vec![
                "event: content_block_delta\ndata: {\"choices\": [oops\n\n".into(),
                "<html>\n\n".into(),
            ]),
            _ => return None,
        })
    }

    /// An error answer that quotes the key, as some vendors do.
    fn refused(self, status: &str, headers: &str, kind: &str) -> Answer {
        let error = json!({ "type": kind, "message": format!("not with the key {KEY}") });
        let body = match self {
            Self::OpenAi => json!({ "error": error }),
            Self::Anthropic => json!({ "type": "error", "error": error }),
        };
        Answer::status(status, headers, body.to_string())
    }

    fn beginning(self, parts: &[Part<'_>]) -> Vec<String> {
        match self {
            Self::OpenAi => {
                let mut calls = 0;
                let delta = |delta: Value| open_ai(json!({ "choices": [{ "index": 0, "delta": delta }] }));
                let mut events = vec![delta(json!({ "role": "assistant", "content": "" }))];
                for part in parts {
                    match *part {
                        Part::Text(text) => events.push(delta(json!({ "content": text }))),
                        Part::Thought(text) => events.push(delta(json!({ "reasoning_content": text }))),
                        Part::Call(id, name, arguments) => {
                            let (first, rest) = arguments.split_at(arguments.len() / 2);
                            let mut call = json!({
                                "index": calls, "type": "function", "function": { "name": name, "arguments": first }
                            });
                            if let Some(id) = id {
                                call["id"] = id.into();
                            }
                            let more = json!({ "index": calls, "function": { "arguments": rest } });
                            events.push(delta(json!({ "tool_calls": [call] })));
                            events.push(delta(json!({ "tool_calls": [more] })));
                            calls += 1;
                        }
                    }
                }
                events
            }
            Self::Anthropic => {
                let usage = json!({ "input_tokens": 11, "output_tokens": 1 });
                let message = json!({ "id": "msg", "role": "assistant", "content": [], "usage": usage });
                let mut events = vec![anthropic(&json!({ "type": "message_start", "message": message }))];
                for (index, part) in parts.iter().enumerate() {
                    let (block, deltas) = match *part {
                        Part::Text(text) => (
                            json!({ "type": "text", "text": "" }),
                            vec![json!({ "type": "text_delta", "text": text })],
                        ),
                        Part::Thought(text) => (
                            json!({ "type": "thinking", "thinking": "" }),
                            vec![json!({ "type": "thinking_delta", "thinking": text })],
                        ),
                        Part::Call(id, name, arguments) => {
                            let (first, rest) = arguments.split_at(arguments.len() / 2);
                            let delta =
                                |part: &str| json!({ "type": "input_json_delta", "partial_json": part });
                            (
                                json!({ "type": "tool_use", "id": id.unwrap_or_default(), "name": name, "input": {} }),
                                vec![delta(first), delta(rest)],
                            )
                        }
                    };
                    let start =
                        json!({ "type": "content_block_start", "index": index, "content_block": block });
                    events.push(anthropic(&start));
                    for delta in deltas {
                        let delta = json!({ "type": "content_block_delta", "index": index, "delta": delta });
                        events.push(anthropic(&delta));
                    }
                    events.push(anthropic(&json!({ "type": "content_block_stop", "index": index })));
                }
                events
            }
        }
    }

    fn ending(self, reason: &str) -> Vec<String> {
        match self {
            Self::OpenAi => vec![
                open_ai(json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })),
                open_ai(json!({
                    "choices": [],
                    "usage": {
                        "prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16,
                        "prompt_tokens_details": { "cached_tokens": 3 }
                    }
                })),
                "data: [DONE]\n\n".into(),
            ],
            Self::Anthropic => vec![
                anthropic(&json!({
                    "type": "message_delta",
                    "delta": { "stop_reason": reason },
                    "usage": { "output_tokens": 5 }
                })),
                anthropic(&json!({ "type": "message_stop" })),
            ],
        }
    }
}

fn open_ai(mut data: Value) -> String {
    data["object"] = "chat.completion.chunk".into();
    format!("data: {data}\n\n")
}

fn anthropic(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap())
}
