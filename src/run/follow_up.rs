use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::id::RunId;
use crate::request::Prompt;

/// What a settled run is asked to do next. Made from text or content blocks.
///
/// ```
/// use std::time::Duration;
/// use subagent::FollowUp;
///
/// let follow_up = FollowUp::new("Now fix it").time_limit(Duration::from_secs(60));
/// ```
#[derive(Debug, Clone)]
#[must_use = "a follow-up does nothing until a run is resumed with it"]
pub struct FollowUp {
    pub(super) prompt: Prompt,
    pub(super) run_id: Option<RunId>,
    pub(super) time_limit: Option<Duration>,
    pub(super) cancellation: Option<CancellationToken>,
}

impl FollowUp {
    /// A follow-up with this prompt.
    pub fn new(prompt: impl Into<Prompt>) -> Self {
        Self { prompt: prompt.into(), run_id: None, time_limit: None, cancellation: None }
    }

    /// Chooses the new run's id.
    pub fn run_id(mut self, id: RunId) -> Self {
        self.run_id = Some(id);
        self
    }

    /// Bounds the new run in time, as [`Request::time_limit`](crate::Request::time_limit) does.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.time_limit = Some(limit);
        self
    }

    /// Cancels the new run when this token is cancelled. The tokens of the first request stay with the first run.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }
}

impl<P: Into<Prompt>> From<P> for FollowUp {
    fn from(prompt: P) -> Self {
        Self::new(prompt)
    }
}
