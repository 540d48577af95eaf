use std::any::{Any, type_name};
use std::sync::Arc;

use futures::future::BoxFuture;

use super::Hub;
use super::gate::Gate;
use crate::agent::is_empty_message;
use crate::capability::{Capabilities, Capability, DepthLimit, OutputCheck, OutputSchema, ToolFilter};
use crate::content::ContentKinds;
use crate::erased::AnyRun;
use crate::error::{StartError, contain};
use crate::event::{Event, RunInfo};
use crate::id::RunId;
use crate::provider::Provider;
use crate::request::RequestBody;
use crate::run::{Run, RunCell, Setup, first_uncarried, start_run};

/// One registered provider.
pub(crate) struct Entry<P> {
    pub(crate) name: Arc<str>,
    pub(crate) provider: P,
    pub(super) hub: Arc<Hub>,
    pub(super) content: ContentKinds,
    /// Closed when the provider is unregistered: no new starts.
    gate: Gate,
}

impl<P: Provider> Entry<P> {
    pub(super) fn new(name: Arc<str>, provider: P, hub: Arc<Hub>) -> Self {
        let content = contain(|| provider.content()).unwrap_or_else(|message| {
            tracing::error!(provider = %name, message, "a provider panicked when asked what it carries: text is assumed");
            ContentKinds::TEXT
        });
        Self { name, provider, hub, content, gate: Gate::default() }
    }

    /// The cell of a run that is to be started here.
    pub(super) fn cell(&self, body: &RequestBody, check: Option<OutputCheck>) -> Arc<RunCell> {
        let parent = body.parent.as_ref();
        let identity = RunInfo {
            run_id: body.run_id.unwrap_or_else(RunId::new),
            provider: Arc::clone(&self.name),
            agent_type: body.agent_type.clone(),
            parent_agent_id: parent.map(|parent| parent.agent_id().clone()),
            parent_session_id: parent.map(|parent| parent.session_id().clone()),
            depth: parent.map_or(0, crate::parent::Parent::depth).saturating_add(1),
            resumed_from: None,
        };
        let setup = Setup {
            identity,
            content: self.content,
            check,
            structured_requested: body.values.contains(<OutputSchema as Capability>::NAME),
        };
        RunCell::new(setup, Arc::clone(&self.hub))
    }

    /// Whether new runs may still come to be here.
    pub(crate) fn check_open(&self) -> Result<(), StartError> {
        if self.gate.is_open() { Ok(()) } else { Err(self.unregistered(None)) }
    }

    /// Begins the publication of a run, which may not come to be any more where the provider was unregistered while it
    /// was starting the child. A removal is told once the publications that began before it are over.
    pub(crate) fn publication(&self, run_id: RunId) -> Result<Publication<'_, P>, StartError> {
        if self.gate.enter() { Ok(Publication(self)) } else { Err(self.unregistered(Some(run_id))) }
    }

    fn unregistered(&self, run_id: Option<RunId>) -> StartError {
        StartError::Unregistered { provider: Arc::clone(&self.name), run_id }
    }

    /// What is checked before the provider is asked: every refusal here leaves no trace.
    pub(crate) fn check(&self, body: &RequestBody) -> Result<(), StartError> {
        if self.hub.is_closed() {
            return Err(StartError::ShutDown);
        }
        self.check_open()?;
        if let Some(capability) = body.values.asked_twice() {
            return Err(StartError::AskedTwice { capability });
        }
        let supported = P::CAPABILITIES;
        if let Some(capability) = body.values.first_unmet(&supported) {
            let (provider, capability) = (Arc::clone(&self.name), capability.to_owned());
            return Err(StartError::UnsupportedCapability { provider, capability, supported });
        }
        if let Some((capability, source)) = body.values.first_malformed(&supported) {
            return Err(StartError::InvalidValue {
                capability: capability.to_owned(),
                run_id: None,
                source: source.into(),
            });
        }
        // A restriction of the parent is never lost on the way down.
        let restricted = body.parent.as_ref().is_some_and(|parent| parent.tool_filter().is_some());
        if restricted && !supported.contains(ToolFilter::NAME) {
            let provider = Arc::clone(&self.name);
            return Err(StartError::InheritedRestriction { provider, capability: ToolFilter::NAME });
        }
        if is_empty_message(&body.prompt) {
            return Err(StartError::EmptyPrompt);
        }
        let carried = self.content;
        if let Some((index, kind)) = first_uncarried(&body.prompt, carried) {
            return Err(StartError::UnsupportedContent {
                provider: Arc::clone(&self.name),
                kind,
                index,
                carried,
                run_id: None,
            });
        }
        check_depth(body)
    }
}

impl<P> Entry<P> {
    fn tell_of_removal(&self) {
        self.hub.listeners.tell(|| Event::ProviderRemoved { provider: Arc::clone(&self.name) });
    }
}

/// A run is being published.
pub(crate) struct Publication<'a, P>(&'a Entry<P>);

impl<P> Drop for Publication<'_, P> {
    fn drop(&mut self) {
        if self.0.gate.leave() {
            self.0.tell_of_removal();
        }
    }
}

fn check_depth(body: &RequestBody) -> Result<(), StartError> {
    let parent = body.parent.as_ref();
    let parent_depth = parent.map_or(0, crate::parent::Parent::depth);
    let Some(depth) = parent_depth.checked_add(1) else {
        return Err(StartError::DepthOverflow { parent_depth });
    };
    let inherited = parent.and_then(crate::parent::Parent::max_depth);
    match inherited.into_iter().chain(body.values.read::<DepthLimit>()).min() {
        Some(max_depth) if depth > max_depth => Err(StartError::DepthExceeded { depth, max_depth }),
        _ => Ok(()),
    }
}

/// A registered provider whose type is not known.
pub(super) trait ErasedEntry: Send + Sync {
    fn name(&self) -> &Arc<str>;
    fn capabilities(&self) -> Capabilities;
    fn content(&self) -> ContentKinds;
    fn provider_type(&self) -> &'static str;
    fn close(&self);
    fn tell_removed(&self);
    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync>;
    fn cell_erased(&self, body: &RequestBody, check: Option<OutputCheck>) -> Arc<RunCell>;
    fn start_erased(
        self: Arc<Self>,
        cell: Arc<RunCell>,
        body: RequestBody,
    ) -> BoxFuture<'static, Result<AnyRun, StartError>>;
}

impl<P: Provider> ErasedEntry for Entry<P> {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn capabilities(&self) -> Capabilities {
        P::CAPABILITIES
    }

    fn content(&self) -> ContentKinds {
        self.content
    }

    fn provider_type(&self) -> &'static str {
        type_name::<P>()
    }

    fn close(&self) {
        self.gate.close();
    }

    fn tell_removed(&self) {
        if self.gate.remove() {
            self.tell_of_removal();
        }
    }

    fn as_any(self: Arc<Self>) -> Arc<dyn Any + Send + Sync> {
        self
    }

    fn cell_erased(&self, body: &RequestBody, check: Option<OutputCheck>) -> Arc<RunCell> {
        self.cell(body, check)
    }

    fn start_erased(
        self: Arc<Self>,
        cell: Arc<RunCell>,
        body: RequestBody,
    ) -> BoxFuture<'static, Result<AnyRun, StartError>> {
        Box::pin(async move { start_run(self, cell, body).await.map(Run::erase) })
    }
}
