use std::any::type_name;
use std::fmt;
use std::sync::{Arc, Mutex};

use super::entries::Entries;
use super::entry::ErasedEntry;
use super::{
    AnyProviderHandle, Entry, Hub, ProviderHandle, Registration, RunControl, RunState, SubagentsBuilder,
    Subscription,
};
use crate::capability::CapabilitySet;
use crate::erased::AnyRun;
use crate::error::{NoProvider, RegisterError, StartError};
use crate::event::Event;
use crate::id::RunId;
use crate::provider::Provider;
use crate::request::Request;
use crate::run::Start;
use crate::sync::lock;

/// The registry and service: providers by name, live runs, listeners. Cheap to clone; all clones are one.
///
/// ```
/// use subagent::{Request, Subagents};
/// use subagent::testing::ScriptedProvider;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let subagents = Subagents::new();
/// let scripted = subagents.register("scripted", ScriptedProvider::replying("done"))?;
///
/// let run = scripted.start(Request::new("Do it")).await?;
/// let result = run.collect().await.into_result()?;
/// assert_eq!(result.text(), "done");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Subagents(Arc<Registry>);

struct Registry {
    entries: Mutex<Entries>,
    hub: Arc<Hub>,
}

impl Subagents {
    /// An empty registry with default settings.
    #[must_use]
    pub fn new() -> Self {
        Self::builder().build()
    }

    /// An empty registry with settings of your own.
    pub fn builder() -> SubagentsBuilder {
        SubagentsBuilder::new()
    }

    pub(super) fn with_hub(hub: Arc<Hub>) -> Self {
        Self(Arc::new(Registry { entries: Mutex::default(), hub }))
    }

    /// Registers a provider under a unique name. It stays registered as long as the guard lives.
    ///
    /// # Errors
    ///
    /// [`RegisterError`] when the name is taken or is no name, or after [`shutdown`](Self::shutdown).
    pub fn register<P: Provider>(
        &self,
        name: impl Into<Arc<str>>,
        provider: P,
    ) -> Result<Registration<P>, RegisterError> {
        let name = name.into();
        if name.is_empty() || name.trim() != &*name || name.contains(is_unseen) {
            return Err(RegisterError::InvalidName { name });
        }
        if self.0.hub.is_closed() {
            return Err(RegisterError::ShutDown);
        }
        let entry = Arc::new(Entry::new(Arc::clone(&name), provider, Arc::clone(&self.0.hub)));
        {
            let mut entries = lock(&self.0.entries);
            if entries.iter().any(|entry| *entry.name() == name) {
                return Err(RegisterError::DuplicateProvider { name });
            }
            entries.push(Arc::clone(&entry) as _);
        }
        let registration = Registration::new(ProviderHandle { entry }, self.clone());
        self.0.hub.listeners.tell(|| Event::ProviderAdded { provider: name });
        Ok(registration)
    }

    /// Unregisters the provider of this name: no new runs start, a start under way fails, and running children stay
    /// with their holders.
    /// Returns whether there was one.
    #[expect(clippy::must_use_candidate, reason = "who unregisters need not care whether there was one")]
    pub fn unregister(&self, name: &str) -> bool {
        let entry = lock(&self.0.entries).iter().find(|entry| &**entry.name() == name).cloned();
        entry.is_some_and(|entry| self.remove_entry(&entry))
    }

    /// The provider of this name.
    ///
    /// # Errors
    ///
    /// [`NoProvider::Unknown`], which lists the known names.
    pub fn get(&self, name: &str) -> Result<AnyProviderHandle, NoProvider> {
        let entries = lock(&self.0.entries);
        match entries.iter().find(|entry| &**entry.name() == name) {
            Some(entry) => Ok(AnyProviderHandle { entry: Arc::clone(entry) }),
            None => Err(NoProvider::Unknown {
                name: name.to_owned(),
                dropped: entries.was_dropped(name),
                known: entries.iter().map(|entry| Arc::clone(entry.name())).collect(),
            }),
        }
    }

    /// The provider of this name, by its type again.
    ///
    /// # Errors
    ///
    /// [`NoProvider`] when there is none of the name, or it is of another type.
    pub fn get_as<P: Provider>(&self, name: &str) -> Result<ProviderHandle<P>, NoProvider> {
        let AnyProviderHandle { entry } = self.get(name)?;
        let found = entry.provider_type();
        match entry.as_any().downcast::<Entry<P>>() {
            Ok(entry) => Ok(ProviderHandle { entry }),
            Err(_) => Err(NoProvider::OtherType { name: name.to_owned(), wanted: type_name::<P>(), found }),
        }
    }

    /// All providers, in the order of registration.
    #[must_use]
    pub fn list(&self) -> Vec<AnyProviderHandle> {
        lock(&self.0.entries).iter().map(|entry| AnyProviderHandle { entry: Arc::clone(entry) }).collect()
    }

    /// Starts a run on the provider of this name. What the compiler checks on a typed handle is checked here,
    /// before a child exists.
    ///
    /// # Errors
    ///
    /// [`StartError`]: no child exists, nothing needs disposing, no event was sent.
    ///
    /// # Cancel safety
    ///
    /// See [`Start`]: dropped half way, no child remains.
    pub fn start<C: CapabilitySet>(&self, name: &str, request: Request<C>) -> Start<AnyRun, C::Output> {
        match self.get(name) {
            Ok(provider) => provider.start(request),
            Err(error) => Start::refused(StartError::NoProvider(error)),
        }
    }

    /// Has `listener` told of every event, synchronously and in order for each run, until the guard is dropped.
    /// A listener must be quick: whoever caused the event waits for it.
    pub fn subscribe(&self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Subscription {
        self.0.hub.listeners.add(Arc::new(listener))
    }

    /// All live runs, the earliest id first.
    #[must_use]
    pub fn runs(&self) -> Vec<RunControl> {
        let mut runs: Vec<_> = self.0.hub.runs().into_iter().map(RunControl::new).collect();
        runs.retain(|run| matches!(run.state(), RunState::Live | RunState::Ending));
        runs.sort_by_key(RunControl::id);
        runs
    }

    /// A view of the live run of this id: how an observer of [`Event::Started`] reaches it. `None` once it has
    /// settled.
    #[must_use]
    pub fn control(&self, id: RunId) -> Option<RunControl> {
        let control = RunControl::new(self.0.hub.run(id)?);
        matches!(control.state(), RunState::Live | RunState::Ending).then_some(control)
    }

    /// Refuses new runs and registrations, cancels every live run, and waits until all have settled and every
    /// disposal in the background has ended. Handles that their holders keep stay with them, and so does a start that
    /// nobody polls any more: it is given up after a while, and fails when it is polled again.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the waiting alone; call it again to go on.
    pub async fn shutdown(&self) {
        self.0.hub.shut_down().await;
    }

    pub(crate) fn hub(&self) -> &Arc<Hub> {
        &self.0.hub
    }

    /// Removes this very entry, and says whether it was there.
    pub(super) fn remove_entry(&self, entry: &Arc<dyn ErasedEntry>) -> bool {
        entry.close();
        let removed = {
            let mut entries = lock(&self.0.entries);
            let at =
                entries.iter().position(|listed| std::ptr::addr_eq(Arc::as_ptr(listed), Arc::as_ptr(entry)));
            at.map(|at| entries.remove(at))
        };
        let Some(removed) = removed else { return false };
        removed.tell_removed();
        true
    }
}

/// Control characters, line breaks, and characters without a shape of their own, by which two names could look
/// alike. Joiners are left: scripts and emoji need them.
pub(crate) fn is_unseen(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

impl Default for Subagents {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Subagents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subagents")
            .field("providers", &self.list())
            .field("runs", &self.runs().len())
            .finish()
    }
}
