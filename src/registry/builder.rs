use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use super::{Hub, Subagents};

/// Sets up a [`Subagents`].
#[derive(Debug, Clone)]
#[must_use = "call `build`"]
pub struct SubagentsBuilder {
    cancel_grace: Duration,
    most_at_once: Option<NonZeroUsize>,
}

impl SubagentsBuilder {
    pub(super) fn new() -> Self {
        Self { cancel_grace: Duration::from_secs(2), most_at_once: None }
    }

    /// Sets how long a cancelled child has to settle by itself before the seam settles in its place; 2 s by
    /// default. A start that the caller left is driven on for as long. On a Tokio runtime without a timer there is
    /// no grace.
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.cancel_grace = grace;
        self
    }

    /// Sets how many runs may be live at once; without limit by default. A start or resumption above it waits in the
    /// order of its coming, and can be cancelled while it does. A run that has settled makes room.
    ///
    /// Each depth of the tree is counted on its own, since children that wait for children of theirs would else
    /// wait for ever.
    pub fn max_concurrent(mut self, runs: NonZeroUsize) -> Self {
        self.most_at_once = Some(runs);
        self
    }

    /// Makes the `Subagents`.
    #[must_use]
    pub fn build(self) -> Subagents {
        Subagents::with_hub(Arc::new(Hub::new(self.cancel_grace, self.most_at_once)))
    }
}
