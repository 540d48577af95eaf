use std::sync::Arc;
use std::time::Duration;

use super::{Hub, Subagents};

/// Sets up a [`Subagents`].
#[derive(Debug, Clone)]
#[must_use = "call `build`"]
pub struct SubagentsBuilder {
    cancel_grace: Duration,
}

impl SubagentsBuilder {
    pub(super) fn new() -> Self {
        Self { cancel_grace: Duration::from_secs(2) }
    }

    /// Sets how long a cancelled child has to settle by itself before the seam settles in its place; 2 s by
    /// default. A start that the caller left is driven on for as long.
    pub fn cancel_grace(mut self, grace: Duration) -> Self {
        self.cancel_grace = grace;
        self
    }

    /// Makes the `Subagents`.
    #[must_use]
    pub fn build(self) -> Subagents {
        Subagents::with_hub(Arc::new(Hub::new(self.cancel_grace)))
    }
}
