use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

use serde_json::json;

use crate::agent::{
    MessageOrigin, ModelRequest, ResponseFormat, SessionEventKind, SessionHeader, SessionWriter, ToolSet,
    UserMessage, tool_fn,
};
use crate::id::SessionId;

/// What a model is made to show, and what is then checked of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelCase {
    /// It answers in text, in several pieces. Checked: text, usage reported once, then one finish, then nothing.
    Answers,
    /// It reasons before it answers. Checked: the reasoning comes as thoughts, before the text.
    Thinks,
    /// It calls the tool `look_up` twice in one response. Checked: two whole calls with ids of their own.
    CallsTools,
    /// It calls `look_up` with arguments that are not JSON. Checked: the call arrives with the text as written.
    MalformedArguments,
    /// The cap of 8 output tokens cuts its response. Checked: it finishes with `MaxTokens`.
    ReachesCap,
    /// It declines. Checked: a refusal, as finish or as error.
    Declines,
    /// It answers in a response format with an integer `count` and a string `unit`. Checked: both fields.
    KeepsFormat,
    /// It says something and then goes silent. Checked: the piece arrives at once, and a dropped stream ends the
    /// call.
    GoesSilent,
    /// The vendor refuses the request.
    BadRequest,
    /// The vendor refuses the credentials.
    BadKey,
    /// The vendor limits the rate and asks to wait for [7 seconds](Self::RETRY_AFTER).
    RateLimited,
    /// The vendor fails.
    ServerFails,
    /// The response breaks off within its text. Checked: the text so far arrives, then the error.
    BreaksOff,
    /// The response is not what the protocol allows.
    Garbage,
    /// Nobody answers at the vendor's address.
    Unreachable,
}

impl ModelCase {
    /// All cases.
    pub const ALL: [Self; 15] = [
        Self::Answers,
        Self::Thinks,
        Self::CallsTools,
        Self::MalformedArguments,
        Self::ReachesCap,
        Self::Declines,
        Self::KeepsFormat,
        Self::GoesSilent,
        Self::BadRequest,
        Self::BadKey,
        Self::RateLimited,
        Self::ServerFails,
        Self::BreaksOff,
        Self::Garbage,
        Self::Unreachable,
    ];

    /// How long the vendor asks to wait in [`RateLimited`](Self::RateLimited).
    pub const RETRY_AFTER: Duration = Duration::from_secs(7);

    /// The code of the error that the case must end in, if in one.
    pub(super) fn error_code(self) -> Option<&'static str> {
        match self {
            Self::BadRequest => Some("BAD_REQUEST"),
            Self::BadKey => Some("AUTHENTICATION"),
            Self::RateLimited => Some("RATE_LIMITED"),
            Self::ServerFails => Some("SERVER"),
            Self::BreaksOff | Self::Garbage => Some("CUT_STREAM"),
            Self::Unreachable => Some("NETWORK"),
            _ => None,
        }
    }

    pub(super) fn request(self) -> Result<ModelRequest, String> {
        let header = SessionHeader::new(SessionId::new());
        let mut session = SessionWriter::new(header);
        let prompt = UserMessage { origin: MessageOrigin::Prompt, content: vec![self.prompt().into()] };
        for event in
            [SessionEventKind::TurnStart, SessionEventKind::User(prompt), SessionEventKind::StepStart]
        {
            session.append(event).map_err(|error| error.to_string())?;
        }
        let mut request = ModelRequest::new(session.session().snapshot());
        // A real model must come to its end soon.
        request.max_output_tokens = NonZeroU32::new(if self == Self::ReachesCap { 8 } else { 64 });
        if matches!(self, Self::CallsTools | Self::MalformedArguments) {
            let schema = json!({
                "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]
            });
            let look_up = tool_fn("look_up", "Looks up the weather.", schema, async |_, _| "sunny");
            request.tools = ToolSet::new().with(look_up).map_err(|error| error.to_string())?;
        }
        if self == Self::KeepsFormat {
            let schema = json!({
                "type": "object",
                "properties": {"count": {"type": "integer"}, "unit": {"type": "string", "maxLength": 12}},
                "required": ["count", "unit"],
                "additionalProperties": false
            });
            request.response_format = Some(ResponseFormat::new("amount", schema));
        }
        Ok(request)
    }

    fn prompt(self) -> &'static str {
        match self {
            Self::CallsTools | Self::MalformedArguments => "Look up the weather of Oslo and of Rome.",
            Self::KeepsFormat => "How long is a day? Answer in JSON with `count` and `unit`.",
            Self::ReachesCap => "Tell a long story about the sea.",
            _ => "Say hello.",
        }
    }
}

impl fmt::Display for ModelCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
