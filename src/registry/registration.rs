use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::entry::ErasedEntry;
use super::{ProviderHandle, Subagents};
use crate::provider::Provider;

/// A provider's registration: a guard that derefs to the provider's [`ProviderHandle`].
///
/// Dropping it unregisters the provider: no new runs start, a start under way fails, and running children stay with
/// their holders. A name that was registered again by others in the meantime is left alone.
#[must_use = "dropping a `Registration` unregisters the provider; keep it, or call `leave_registered`"]
pub struct Registration<P: Provider> {
    handle: ProviderHandle<P>,
    /// `None` once the provider is left registered.
    subagents: Option<Subagents>,
}

impl<P: Provider> Registration<P> {
    pub(super) fn new(handle: ProviderHandle<P>, subagents: Subagents) -> Self {
        Self { handle, subagents: Some(subagents) }
    }

    /// Gives up the guard and keeps the provider registered, until it is unregistered by name or `Subagents` shuts
    /// down.
    #[expect(clippy::must_use_candidate, reason = "runs can be started by name without the handle")]
    pub fn leave_registered(mut self) -> ProviderHandle<P> {
        self.subagents = None;
        self.handle.clone()
    }

    /// Unregisters the provider.
    pub fn unregister(self) {
        drop(self);
    }

    /// The provider's handle, to keep apart from the guard.
    #[must_use]
    pub fn handle(&self) -> ProviderHandle<P> {
        self.handle.clone()
    }
}

impl<P: Provider> Deref for Registration<P> {
    type Target = ProviderHandle<P>;

    fn deref(&self) -> &ProviderHandle<P> {
        &self.handle
    }
}

impl<P: Provider> Drop for Registration<P> {
    fn drop(&mut self) {
        if let Some(subagents) = &self.subagents {
            let entry: Arc<dyn ErasedEntry> = Arc::clone(&self.handle.entry) as _;
            subagents.remove_entry(&entry);
        }
    }
}

impl<P: Provider> fmt::Debug for Registration<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("name", &self.handle.name()).finish_non_exhaustive()
    }
}
