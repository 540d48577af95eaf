//! What a run shows of itself while it works.

use tokio::time::Instant;
use tracing::Span;

use super::{Phase, RunCell};
use crate::sync::lock;
use crate::trace;
use crate::tree::shown_line;
use crate::usage::Tokens;

/// A run as it is at one moment.
pub(crate) struct Glimpse {
    pub(crate) phase: Phase,
    /// When it was published.
    pub(crate) started: Option<Instant>,
    pub(crate) last_activity: Option<Instant>,
    /// What its own model calls reported so far.
    pub(crate) tokens: Tokens,
    pub(crate) last_line: Option<String>,
}

impl RunCell {
    /// The run's span; it begins now.
    pub(in crate::run) fn begin_span(&self) -> Span {
        let span = trace::run(&self.identity);
        if !span.is_disabled() {
            lock(&self.state).span = Some(Box::new(span.clone()));
        }
        span
    }

    /// The run's span, where anyone listens and it has not ended.
    pub(in crate::run) fn span(&self) -> Span {
        lock(&self.state).span.as_deref().cloned().unwrap_or_else(Span::none)
    }

    pub(crate) fn glimpse(&self) -> Glimpse {
        let state = lock(&self.state);
        Glimpse {
            phase: state.phase,
            started: state.started,
            last_activity: state.last_activity,
            tokens: state.tokens,
            last_line: state.transcript.last_line().map(shown_line),
        }
    }
}
