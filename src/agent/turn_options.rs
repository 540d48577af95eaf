use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::activity::Activity;
use super::inbox::Inbox;
use super::ledger::UsageLedger;
use crate::update::Update;

/// What goes with one turn.
#[derive(Clone)]
#[must_use = "the options do nothing until a turn is run with them"]
pub struct TurnOptions {
    pub(super) cancellation: CancellationToken,
    pub(super) inbox: Inbox,
    pub(super) updates: Arc<dyn Fn(Update) + Send + Sync>,
    pub(super) usage: UsageLedger,
    pub(super) notice: Option<Arc<str>>,
    /// Whether the turn is that of a run, which has a span of its own.
    pub(super) in_run: bool,
    pub(super) activity_above: Option<Activity>,
}

impl TurnOptions {
    /// A turn that nobody cancels, steers or watches.
    pub fn new() -> Self {
        Self {
            cancellation: CancellationToken::new(),
            inbox: Inbox::new(),
            updates: Arc::new(|_| {}),
            usage: UsageLedger::new(),
            notice: None,
            in_run: false,
            activity_above: None,
        }
    }

    /// The token that cancels the turn. What the turn has not published by then is `Aborted`.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }

    /// Where messages for the running turn come from.
    pub fn inbox(mut self, inbox: Inbox) -> Self {
        self.inbox = inbox;
        self
    }

    /// Who hears of the turn's progress. It is called on the turn's own task, so it must be quick.
    pub fn on_update(mut self, listener: impl Fn(Update) + Send + Sync + 'static) -> Self {
        self.updates = Arc::new(listener);
        self
    }

    /// What the model is told before the prompt, as a message of its own.
    pub fn notice(mut self, notice: impl Into<Arc<str>>) -> Self {
        self.notice = Some(notice.into());
        self
    }

    pub(crate) fn in_run(mut self) -> Self {
        self.in_run = true;
        self
    }

    /// Who waits for this turn: what the agent does is a sign of life of that agent, too.
    pub(crate) fn activity_above(mut self, above: Option<Activity>) -> Self {
        self.activity_above = above;
        self
    }

    /// Where usage is added up; a child's is a [`UsageLedger::child_of`] its parent's.
    pub fn usage(mut self, ledger: UsageLedger) -> Self {
        self.usage = ledger;
        self
    }
}

impl Default for TurnOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TurnOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnOptions").field("inbox", &self.inbox).finish_non_exhaustive()
    }
}
