use std::fmt;
use std::sync::Arc;

use super::Entry;
use super::entry::ErasedEntry;
use crate::capability::{Capabilities, CapabilitySet, OutputType, SatisfiedBy};
use crate::content::ContentKinds;
use crate::erased::AnyRun;
use crate::provider::Provider;
use crate::request::Request;
use crate::run::{Start, start_run};

/// A registered provider, by its type: what a request needs is checked by the compiler. Cheap to clone.
pub struct ProviderHandle<P> {
    pub(super) entry: Arc<Entry<P>>,
}

impl<P: Provider> ProviderHandle<P> {
    /// Starts a run. A request for a start-time capability that `P` lacks does not compile.
    ///
    /// # Errors
    ///
    /// [`StartError`](crate::StartError): no child exists, nothing needs disposing, no event was sent.
    ///
    /// # Cancel safety
    ///
    /// See [`Start`]: dropped half way, no child remains.
    pub fn start<C>(&self, request: Request<C>) -> Start<P::Run, C::Output>
    where
        C: CapabilitySet + SatisfiedBy<P>,
    {
        // Another crate may claim `Supports` for a type that is not its own.
        const {
            assert!(
                P::CAPABILITIES.covers(C::NAMES),
                "a start-time capability is claimed with `impl Supports` for this provider, \
                 but the provider does not declare it with `supports!`"
            );
        }
        let cell = self.entry.cell(&request.body, C::Output::CHECK);
        let start = start_run(Arc::clone(&self.entry), Arc::clone(&cell), request.body);
        Start::new(Box::pin(start), cell)
    }

    /// The name that the provider is registered under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.entry.name
    }

    /// The start-time capabilities that the provider declares.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        P::CAPABILITIES
    }

    /// The kinds of content that the provider carries to its child.
    #[must_use]
    pub fn content(&self) -> ContentKinds {
        self.entry.content
    }

    /// The provider itself.
    #[must_use]
    pub fn provider(&self) -> &P {
        &self.entry.provider
    }
}

impl<P> Clone for ProviderHandle<P> {
    fn clone(&self) -> Self {
        Self { entry: Arc::clone(&self.entry) }
    }
}

impl<P> fmt::Debug for ProviderHandle<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderHandle").field("name", &self.entry.name).finish_non_exhaustive()
    }
}

/// A registered provider whose type is not known: what a request needs is checked when it is started. Cheap to
/// clone.
#[derive(Clone)]
pub struct AnyProviderHandle {
    pub(super) entry: Arc<dyn ErasedEntry>,
}

impl AnyProviderHandle {
    /// Starts a run, after checking each requested capability in the order requested.
    ///
    /// # Errors
    ///
    /// [`StartError`](crate::StartError), with
    /// [`UnsupportedCapability`](crate::StartError::UnsupportedCapability) for the first one that the provider
    /// lacks: no child exists, nothing needs disposing, no event was sent.
    ///
    /// # Cancel safety
    ///
    /// See [`Start`]: dropped half way, no child remains.
    pub fn start<C: CapabilitySet>(&self, request: Request<C>) -> Start<AnyRun, C::Output> {
        let cell = self.entry.cell_erased(&request.body, C::Output::CHECK);
        let start = Arc::clone(&self.entry).start_erased(Arc::clone(&cell), request.body);
        Start::new(start, cell)
    }

    /// The name that the provider is registered under.
    #[must_use]
    pub fn name(&self) -> &str {
        self.entry.name()
    }

    /// The start-time capabilities that the provider declares.
    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.entry.capabilities()
    }

    /// The kinds of content that the provider carries to its child.
    #[must_use]
    pub fn content(&self) -> ContentKinds {
        self.entry.content()
    }
}

impl fmt::Debug for AnyProviderHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyProviderHandle")
            .field("name", self.entry.name())
            .field("capabilities", &self.capabilities())
            .finish_non_exhaustive()
    }
}
