use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::usage::{ModelUsage, Usage};

/// Where a run's usage is added up while it runs; cheap to clone, all clones are one.
///
/// What a ledger records reaches the ledgers above it at once, as their descendants' usage, so that a sum is exact
/// also where a run in between fails or is cancelled.
#[derive(Debug, Clone, Default)]
pub struct UsageLedger(Arc<Inner>);

impl UsageLedger {
    /// A ledger of a run that nobody delegated.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A ledger of a run that the run of `parent` delegated.
    #[must_use]
    pub fn child_of(parent: &Self) -> Self {
        Self(Arc::new(Inner { usage: Mutex::default(), parent: Some(parent.clone()) }))
    }

    /// Adds one model call of the run's own.
    pub fn add(&self, call: &ModelUsage) {
        self.0.usage().add(call);
        self.add_above(call);
    }

    /// Adds one model call of a descendant that has no ledger of its own.
    pub fn add_descendant(&self, call: &ModelUsage) {
        let mut child = Usage::default();
        child.add(call);
        self.0.usage().add_child(&child);
        self.add_above(call);
    }

    /// The sums so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.0.usage().clone()
    }

    fn add_above(&self, call: &ModelUsage) {
        let mut child = Usage::default();
        child.add(call);
        let mut above = self.0.parent.as_ref();
        while let Some(ledger) = above {
            ledger.0.usage().add_child(&child);
            above = ledger.0.parent.as_ref();
        }
    }
}

#[derive(Debug, Default)]
struct Inner {
    usage: Mutex<Usage>,
    parent: Option<UsageLedger>,
}

impl Inner {
    fn usage(&self) -> MutexGuard<'_, Usage> {
        // Adding and cloning do not panic.
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
