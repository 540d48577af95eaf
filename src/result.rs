//! What a run ends with: [`Outcome`] as its provider says it, [`SubagentResult`] as its caller reads it.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[doc(inline)]
pub use crate::stop_reason::StopReason;
#[doc(inline)]
pub use crate::usage::{ModelUsage, Usage};

use crate::capability::{NoOutput, StructuredOutput, decode};
use crate::content::{ContentBlock, Output};
use crate::error::StructuredError;

/// How a child ended, as its provider tells the seam.
///
/// ```
/// use subagent::{Outcome, StopReason};
///
/// let outcome = Outcome::new(StopReason::MaxTokens).with_output("The first half").with_diagnostic("4096 tokens written");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Outcome {
    /// Why the child stopped.
    pub stop_reason: StopReason,
    /// The child's last message that is not blank. Left blank, the last one that was reported takes its place.
    #[serde(default, skip_serializing_if = "is_absent")]
    pub output: Output,
    /// The structured value, where one was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// What went wrong, safe to show to anyone: no secrets, no foreign markup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostic: Option<String>,
    /// What the child used.
    #[serde(default, skip_serializing_if = "Usage::is_empty")]
    pub usage: Usage,
    /// Messages that were accepted but that the child did not get to see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undelivered: Vec<Vec<ContentBlock>>,
}

impl Outcome {
    /// An outcome with this stop reason and nothing else.
    #[must_use]
    pub fn new(stop_reason: StopReason) -> Self {
        Self {
            stop_reason,
            output: Output::none(),
            structured: None,
            diagnostic: None,
            usage: Usage::default(),
            undelivered: Vec::new(),
        }
    }

    /// The child finished and said this.
    pub fn completed(output: impl Into<Output>) -> Self {
        Self::new(StopReason::Completed).with_output(output)
    }

    /// The child failed; the diagnostic is safe to show.
    pub fn error(diagnostic: impl Into<String>) -> Self {
        Self::new(StopReason::Error).with_diagnostic(diagnostic)
    }

    /// Sets what the child said.
    #[must_use]
    pub fn with_output(mut self, output: impl Into<Output>) -> Self {
        self.output = output.into();
        self
    }

    /// Sets the structured value.
    #[must_use]
    pub fn with_structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    /// Says what went wrong, safe to show.
    #[must_use]
    pub fn with_diagnostic(mut self, diagnostic: impl Into<String>) -> Self {
        self.diagnostic = Some(diagnostic.into());
        self
    }

    /// Sets what the child used.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Lists the messages that the child did not get to see.
    #[must_use]
    pub fn with_undelivered(mut self, messages: Vec<Vec<ContentBlock>>) -> Self {
        self.undelivered = messages;
        self
    }
}

fn is_absent(output: &Output) -> bool {
    output.is_empty()
}

/// A run's result. `O` is the type of its structured output: [`NoOutput`] or [`Typed<T>`](crate::Typed).
///
/// Its JSON form is that of [`Outcome`].
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub struct SubagentResult<O = NoOutput> {
    outcome: Outcome,
    /// Whether a structured value was requested; `true` where nobody knows.
    #[serde(skip, default = "unknown")]
    structured_requested: bool,
    #[serde(skip)]
    output_type: PhantomData<fn() -> O>,
}

fn unknown() -> bool {
    true
}

impl<O> SubagentResult<O> {
    pub(crate) fn new(outcome: Outcome, structured_requested: bool) -> Self {
        Self { outcome, structured_requested, output_type: PhantomData }
    }

    /// Why the run stopped.
    #[must_use]
    pub fn stop_reason(&self) -> &StopReason {
        &self.outcome.stop_reason
    }

    /// Whether the child finished its task.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        self.outcome.stop_reason.is_completed()
    }

    /// What the child said: its last non-empty message, or the text that it had streamed so far.
    #[must_use]
    pub fn output(&self) -> &Output {
        &self.outcome.output
    }

    /// The text of the output, all text blocks together.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        self.outcome.output.to_text()
    }

    /// What went wrong, safe to show.
    #[must_use]
    pub fn diagnostic(&self) -> Option<&str> {
        self.outcome.diagnostic.as_deref()
    }

    /// What the run used.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.outcome.usage
    }

    /// Messages that were accepted but that the child did not get to see.
    #[must_use]
    pub fn undelivered(&self) -> &[Vec<ContentBlock>] {
        &self.outcome.undelivered
    }

    /// The structured value as JSON, where the provider gave one: also unasked, or half done.
    #[must_use]
    pub fn structured_json(&self) -> Option<&Value> {
        self.outcome.structured.as_ref()
    }

    /// The structured value. A completed run that was asked for one has it.
    ///
    /// # Errors
    ///
    /// [`StructuredError::Incomplete`] when the run did not complete, [`StructuredError::NotRequested`] when a
    /// request that was checked at run time carried no schema.
    pub fn structured<T>(&self) -> Result<T, StructuredError>
    where
        T: serde::de::DeserializeOwned,
        O: StructuredOutput<Self, Value = T>,
    {
        self.decode()
    }

    pub(crate) fn decode<T: serde::de::DeserializeOwned>(&self) -> Result<T, StructuredError> {
        match &self.outcome.structured {
            _ if !self.structured_requested => Err(StructuredError::NotRequested),
            _ if !self.is_completed() => Err(StructuredError::Incomplete {
                stop_reason: self.outcome.stop_reason.clone(),
                diagnostic: self.outcome.diagnostic.clone(),
            }),
            Some(value) => decode(value).map_err(|reason| StructuredError::Mismatch { reason }),
            None => Err(StructuredError::NotRequested),
        }
    }

    /// The result as data, without its type.
    #[must_use]
    pub fn into_outcome(self) -> Outcome {
        self.outcome
    }
}

impl<O> Clone for SubagentResult<O> {
    fn clone(&self) -> Self {
        Self::new(self.outcome.clone(), self.structured_requested)
    }
}

impl<O> PartialEq for SubagentResult<O> {
    fn eq(&self, other: &Self) -> bool {
        self.outcome == other.outcome
    }
}

impl<O> fmt::Debug for SubagentResult<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { stop_reason, output, structured, diagnostic, usage, undelivered } = &self.outcome;
        f.debug_struct("SubagentResult")
            .field("stop_reason", stop_reason)
            .field("output", output)
            .field("structured", structured)
            .field("diagnostic", diagnostic)
            .field("usage", usage)
            .field("undelivered", undelivered)
            .finish_non_exhaustive()
    }
}
