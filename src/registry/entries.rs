use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;

use super::entry::ErasedEntry;

/// How many names of removed providers are kept, for the words of an error.
const MOST_DROPPED: usize = 64;

/// The registered providers, in the order of registration.
#[derive(Default)]
pub(super) struct Entries {
    registered: Vec<Arc<dyn ErasedEntry>>,
    /// The names of those that were removed, the latest last.
    dropped: VecDeque<Arc<str>>,
}

impl Entries {
    pub(super) fn push(&mut self, entry: Arc<dyn ErasedEntry>) {
        self.registered.push(entry);
    }

    pub(super) fn remove(&mut self, at: usize) -> Arc<dyn ErasedEntry> {
        let removed = self.registered.remove(at);
        self.dropped.retain(|name| name != removed.name());
        if self.dropped.len() == MOST_DROPPED {
            self.dropped.pop_front();
        }
        self.dropped.push_back(Arc::clone(removed.name()));
        removed
    }

    /// Whether the provider of this name was removed not long ago.
    pub(super) fn was_dropped(&self, name: &str) -> bool {
        self.dropped.iter().any(|dropped| &**dropped == name)
    }
}

impl Deref for Entries {
    type Target = [Arc<dyn ErasedEntry>];

    fn deref(&self) -> &Self::Target {
        &self.registered
    }
}
