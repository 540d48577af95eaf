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
pub struct Registration<P> {
    handle: ProviderHandle<P>,
    /// Where the provider is registered, and as what; `None` once it is left registered.
    registered: Option<(Subagents, Arc<dyn ErasedEntry>)>,
}

impl<P: Provider> Registration<P> {
    pub(super) fn new(handle: ProviderHandle<P>, subagents: Subagents) -> Self {
        let entry: Arc<dyn ErasedEntry> = Arc::clone(&handle.entry) as _;
        Self { handle, registered: Some((subagents, entry)) }
    }
}

impl<P> Registration<P> {
    /// Gives up the guard and keeps the provider registered, until it is unregistered by name or `Subagents` shuts
    /// down.
    #[expect(clippy::must_use_candidate, reason = "runs can be started by name without the handle")]
    pub fn leave_registered(mut self) -> ProviderHandle<P> {
        self.registered = None;
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

impl<P> Deref for Registration<P> {
    type Target = ProviderHandle<P>;

    fn deref(&self) -> &ProviderHandle<P> {
        &self.handle
    }
}

impl<P> Drop for Registration<P> {
    fn drop(&mut self) {
        if let Some((subagents, entry)) = &self.registered {
            subagents.remove_entry(entry);
        }
    }
}

impl<P> fmt::Debug for Registration<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("name", &self.handle.entry.name).finish_non_exhaustive()
    }
}
