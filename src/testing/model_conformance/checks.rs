use std::collections::HashSet;
use std::error::Error;
use std::time::Duration;

use futures::StreamExt;
use serde_json::Value;
use tokio::time::timeout;

use super::{ModelCase, ModelFixture, ModelReport, ModelVerdict, StagedModel};
use crate::agent::{FinishReason, Model, ModelError, ModelEvent, ModelStream};

/// Runs every case that the fixture can show, one after the other.
///
/// # Cancel safety
///
/// Dropping the future ends the call in flight; the report is lost.
pub async fn check(fixture: &dyn ModelFixture) -> ModelReport {
    let mut cases = Vec::new();
    for case in ModelCase::ALL {
        let verdict = match fixture.stage(case) {
            None => ModelVerdict::Skipped,
            Some(staged) => match check_case(case, staged, fixture.deadline()).await {
                Ok(()) => ModelVerdict::Kept,
                Err(what) => ModelVerdict::Broken { what },
            },
        };
        cases.push((case, verdict));
    }
    ModelReport(cases)
}

async fn check_case(case: ModelCase, staged: StagedModel, deadline: Duration) -> Result<(), String> {
    ensure(!staged.model.name().is_empty(), || "the model has no name".into())?;
    if case == ModelCase::KeepsFormat {
        ensure(staged.model.has_response_format(), || "the model declares no response format".into())?;
    }
    let stream = staged.model.stream(case.request()?);
    if case == ModelCase::GoesSilent {
        return silent(stream, staged, deadline).await;
    }
    let response = timeout(deadline, receive(stream))
        .await
        .map_err(|_| format!("the stream did not end within {} s", deadline.as_secs_f64()))??;
    if let (Some(error), Some(secret)) = (&response.error, &staged.secret) {
        conceals(error, secret)?;
    }
    match case {
        ModelCase::Answers => {
            ensure(!response.text().is_empty(), || "the text is empty".into())?;
            ensure(response.calls().is_empty(), || "there are tool calls".into())?;
            response.finished(&FinishReason::Stop)?;
            response.usage()
        }
        ModelCase::Thinks => response.thoughts_before_text(),
        ModelCase::CallsTools => response.parallel_calls(),
        ModelCase::MalformedArguments => response.malformed_call(),
        ModelCase::ReachesCap => response.finished(&FinishReason::MaxTokens),
        ModelCase::Declines => match &response.error {
            Some(ModelError::Refused { .. }) => Ok(()),
            _ => response.finished(&FinishReason::Refusal),
        },
        ModelCase::KeepsFormat => {
            response.finished(&FinishReason::Stop)?;
            let text = response.text();
            let value: Value =
                serde_json::from_str(&text).map_err(|error| format!("not JSON: {error}: {text}"))?;
            ensure(value["count"].is_i64() && value["unit"].is_string(), || {
                format!("fields are missing: {value}")
            })
        }
        _ => response.failed(case),
    }
}

/// All of a response.
struct Response {
    events: Vec<ModelEvent>,
    error: Option<ModelError>,
}

/// Receives a response to its end, which must be one: a finish or an error, and nothing after it.
async fn receive(mut stream: ModelStream) -> Result<Response, String> {
    let mut response = Response { events: Vec::new(), error: None };
    let mut over = false;
    while let Some(event) = stream.next().await {
        ensure(!over, || format!("something comes after the end: {event:?}"))?;
        over = matches!(event, Err(_) | Ok(ModelEvent::Finish(_)));
        match event {
            Ok(event) => response.events.push(event),
            Err(error) => response.error = Some(error),
        }
    }
    if !over {
        // An ending without finish counts as cut, so it is one way to say it.
        response.error = Some(ModelError::CutStream { source: None });
    }
    Ok(response)
}

async fn silent(mut stream: ModelStream, staged: StagedModel, deadline: Duration) -> Result<(), String> {
    let late = |_| "the first piece did not arrive while the vendor was still busy".to_owned();
    loop {
        match timeout(deadline, stream.next()).await.map_err(late)? {
            Some(Ok(ModelEvent::Text(text))) if !text.is_empty() => break,
            Some(Ok(ModelEvent::Finish(_)) | Err(_)) | None => return Err("it ended without a word".into()),
            Some(Ok(_)) => {}
        }
    }
    drop(stream);
    match staged.ended {
        Some(ended) => timeout(deadline, ended)
            .await
            .map_err(|_| "the call went on after its stream was dropped".to_owned()),
        None => Ok(()),
    }
}

impl Response {
    fn text(&self) -> String {
        let piece = |event: &ModelEvent| match event {
            ModelEvent::Text(text) => Some(text.clone()),
            _ => None,
        };
        self.events.iter().filter_map(piece).collect()
    }

    fn calls(&self) -> Vec<(&str, &str, &str)> {
        let mut calls = Vec::new();
        for event in &self.events {
            if let ModelEvent::ToolCall { id, name, arguments } = event {
                calls.push((id.as_str(), name.as_str(), arguments.as_str()));
            }
        }
        calls
    }

    fn finished(&self, expected: &FinishReason) -> Result<(), String> {
        match (&self.error, self.events.last()) {
            (None, Some(ModelEvent::Finish(reason))) if reason == expected => Ok(()),
            (Some(error), _) => Err(format!("it failed, {expected:?} was expected: {error}")),
            (None, last) => Err(format!("it ended with {last:?}, {expected:?} was expected")),
        }
    }

    fn usage(&self) -> Result<(), String> {
        let usage: Vec<_> =
            self.events.iter().filter(|event| matches!(event, ModelEvent::Usage(_))).collect();
        match usage[..] {
            [ModelEvent::Usage(usage)] if usage.output_tokens.is_some_and(|tokens| tokens > 0) => Ok(()),
            _ => Err(format!("usage should be reported once, with output tokens: {usage:?}")),
        }
    }

    fn thoughts_before_text(&self) -> Result<(), String> {
        self.finished(&FinishReason::Stop)?;
        let position = |wanted: fn(&ModelEvent) -> bool| self.events.iter().position(wanted);
        let thought = position(|event| matches!(event, ModelEvent::Thought(text) if !text.is_empty()));
        let text = position(|event| matches!(event, ModelEvent::Text(text) if !text.is_empty()));
        ensure(thought.is_some() && thought < text, || {
            format!("a thought should come before the text: {:?}", self.events)
        })
    }

    fn parallel_calls(&self) -> Result<(), String> {
        self.finished(&FinishReason::ToolCalls)?;
        let calls = self.calls();
        let ids: HashSet<_> = calls.iter().map(|(id, ..)| *id).filter(|id| !id.is_empty()).collect();
        ensure(calls.len() == 2 && ids.len() == 2, || format!("two calls with ids of their own: {calls:?}"))?;
        for (_, name, arguments) in calls {
            let arguments: Value =
                serde_json::from_str(arguments).map_err(|error| format!("a call is not whole: {error}"))?;
            ensure(name == "look_up" && arguments["city"].is_string(), || {
                format!("`look_up` with a city was expected: {name} {arguments}")
            })?;
        }
        Ok(())
    }

    fn malformed_call(&self) -> Result<(), String> {
        self.finished(&FinishReason::ToolCalls)?;
        match self.calls()[..] {
            [(_, "look_up", arguments)] if !arguments.is_empty() => {
                ensure(serde_json::from_str::<Value>(arguments).is_err(), || {
                    format!("malformed arguments were made well-formed: {arguments}")
                })
            }
            _ => Err(format!("one call of `look_up` was expected: {:?}", self.events)),
        }
    }

    fn failed(&self, case: ModelCase) -> Result<(), String> {
        let expected = case.error_code().unwrap_or_default();
        let Some(error) = &self.error else {
            return Err(format!("it did not fail, `{expected}` was expected: {:?}", self.events));
        };
        ensure(error.code() == expected, || {
            format!("`{expected}` was expected, not `{}`: {error}", error.code())
        })?;
        if case == ModelCase::BreaksOff {
            ensure(!self.text().is_empty(), || "the text before the break is lost".into())?;
        }
        match error {
            ModelError::RateLimited { retry_after, .. } => {
                ensure(*retry_after == Some(ModelCase::RETRY_AFTER), || {
                    format!("the time to wait is {retry_after:?}, {:?} was asked for", ModelCase::RETRY_AFTER)
                })
            }
            _ => Ok(()),
        }
    }
}

/// No text of the error shows the secret.
fn conceals(error: &ModelError, secret: &str) -> Result<(), String> {
    let error: &dyn Error = error;
    let mut shown = std::iter::successors(Some(error), |error| (*error).source());
    let leaks = shown.any(|error| format!("{error} {error:?}").contains(secret));
    ensure(!leaks, || "the error shows the key".into())
}

fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise()) }
}
