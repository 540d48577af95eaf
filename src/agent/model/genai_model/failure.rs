use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use genai::Error;
use genai::adapter::AdapterKind;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::agent::model::{ModelError, ModelErrorSource};

/// What a vendor writes about a request may be long; more than this helps nobody.
const LONGEST_MESSAGE: usize = 500;

/// Takes the key out of a text: some vendors quote it.
#[derive(Clone)]
pub(super) struct Redaction {
    key: Option<Arc<str>>,
    /// Where the key comes from if it is not given.
    variable: Option<&'static str>,
}

impl Redaction {
    pub(super) fn new(key: Option<String>, vendor: Option<AdapterKind>) -> Self {
        Self { key: key.map(Into::into), variable: vendor.and_then(|vendor| vendor.default_key_env_name()) }
    }

    fn apply(&self, text: &str) -> String {
        let from_variable = || std::env::var(self.variable?).ok().map(Into::into);
        let text = match self.key.clone().or_else(from_variable) {
            Some(key) if !key.is_empty() => text.replace(&*key, "[key]"),
            _ => text.to_owned(),
        };
        let mut shown: String = text.chars().take(LONGEST_MESSAGE).collect();
        if shown.len() < text.len() {
            shown.push('…');
        }
        shown
    }

    fn source(&self, text: &str) -> ModelErrorSource {
        Arc::new(VendorError(self.apply(text)))
    }
}

/// What lies behind a failure. The error of `genai` is not kept: it may hold the key, the request or an address.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct VendorError(String);

pub(super) fn failure(error: Error, redaction: &Redaction) -> ModelError {
    match error {
        Error::HttpError { status, body, headers, .. } => http_failure(status, &headers, &body, redaction),
        Error::WebStream { error, .. } => match error.downcast::<Error>() {
            Ok(error) => failure(*error, redaction),
            Err(error) => match error.downcast::<reqwest::Error>() {
                Ok(error) => transport_failure(*error, redaction),
                Err(_) => cut("the response cannot be read", redaction),
            },
        },
        Error::ChatResponse { body, .. } => event_failure(&body, redaction),
        Error::StreamParse { serde_error, .. } => {
            cut(&format!("not the expected JSON: {serde_error}"), redaction)
        }
        Error::JsonValueExt(_) | Error::SerdeJson(_) | Error::InvalidJsonResponseElement { .. } => {
            cut("an event is not what the protocol allows", redaction)
        }
        Error::RequiresApiKey { .. }
        | Error::NoAuthResolver { .. }
        | Error::NoAuthData { .. }
        | Error::Resolver { .. } => {
            ModelError::Authentication { source: Some(redaction.source("there is no key")) }
        }
        Error::ChatReqHasNoMessages { .. } => ModelError::bad_request("it has no message"),
        Error::MessageRoleNotSupported { .. }
        | Error::MessageContentTypeNotSupported { .. }
        | Error::AdapterNotSupported { .. } => ModelError::bad_request(redaction.apply(&error.to_string())),
        _ => ModelError::other("the call could not be made"),
    }
}

fn http_failure(status: StatusCode, headers: &HeaderMap, body: &str, redaction: &Redaction) -> ModelError {
    let parsed = serde_json::from_str(body).unwrap_or(Value::Null);
    let message = message_of(&parsed).unwrap_or(body);
    let source = Some(redaction.source(message));
    match status.as_u16() {
        429 => ModelError::RateLimited { retry_after: retry_after(headers), source },
        401 | 403 => ModelError::Authentication { source },
        // A request that timed out on the vendor's side can be sent again, as after any failure of the vendor's.
        408 | 500..=599 => ModelError::Server { status: Some(status.as_u16()), source },
        300..=399 => {
            ModelError::bad_request("the address redirects, which is not followed: give the final one")
        }
        400..=499 => ModelError::BadRequest { message: redaction.apply(message), source: None },
        _ => ModelError::Other { message: format!("it answered with status {status}"), source },
    }
}

/// An error that the vendor reports within a response.
fn event_failure(body: &Value, redaction: &Redaction) -> ModelError {
    let error = body.get("error").unwrap_or(body);
    let kind = ["type", "code"].iter().find_map(|field| error[field].as_str()).unwrap_or_default();
    let message = message_of(body).unwrap_or(kind);
    let source = Some(redaction.source(message));
    match kind {
        kind if kind.contains("rate_limit") => ModelError::RateLimited { retry_after: None, source },
        kind if kind.contains("authentication") || kind.contains("permission") => {
            ModelError::Authentication { source }
        }
        kind if kind.contains("invalid_request") => {
            ModelError::BadRequest { message: redaction.apply(message), source: None }
        }
        _ => ModelError::Server { status: None, source },
    }
}

fn transport_failure(error: reqwest::Error, redaction: &Redaction) -> ModelError {
    let broke_off = error.is_body() || error.is_decode();
    // The URL may hold credentials.
    let error = error.without_url();
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    let text = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    if broke_off {
        cut(&text, redaction)
    } else if error.is_builder() {
        ModelError::BadRequest { message: "its key or address cannot be sent".into(), source: None }
    } else {
        ModelError::Network { source: Some(redaction.source(&text)) }
    }
}

fn cut(why: &str, redaction: &Redaction) -> ModelError {
    ModelError::CutStream { source: Some(redaction.source(why)) }
}

fn message_of(body: &Value) -> Option<&str> {
    let error = body.get("error").unwrap_or(body);
    error.as_str().or_else(|| error["message"].as_str())
}

/// Seconds, or milliseconds in a header of their own. A date is left out: the clocks need not agree.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let milliseconds = number("retry-after-ms").map(|milliseconds| milliseconds / 1000.0);
    let seconds = milliseconds.or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}
