use std::fmt;
use std::sync::Arc;

use super::source::{ByName, ByType, Source};
use super::subagent_tool::{Settings, SubagentTool};
use super::toolset::DelegationToolsBuilder;
use crate::capability::{CapabilitySet, SatisfiedBy};
use crate::provider::Provider;
use crate::registry::{ProviderHandle, Subagents};
use crate::request::Request;

/// A provider that is known by its name: what it can do is checked when a child is started.
#[derive(Debug, Clone)]
pub struct ByProviderName {
    pub(super) subagents: Subagents,
    pub(super) name: Arc<str>,
}

/// Sets up a [`SubagentTool`]. `P` is the provider: a [`ProviderHandle`], or [`ByProviderName`].
#[must_use = "a tool is made by `build`"]
pub struct SubagentToolBuilder<P> {
    pub(super) provider: P,
    pub(super) source: Arc<dyn Source>,
    pub(super) settings: Settings,
}

impl<P: Provider> SubagentToolBuilder<ProviderHandle<P>> {
    pub(super) fn typed(provider: &ProviderHandle<P>) -> Self {
        let source = ByType { provider: provider.clone(), configure: |request: Request| request };
        Self { provider: provider.clone(), source: Arc::new(source), settings: Settings::default() }
    }

    /// Says what every child is started with beside its prompt: kind of agent, child options, limits. The request for
    /// a capability that the provider lacks does not compile. Parent, run id and cancellation come from the call.
    /// Called again, it replaces what was said before.
    pub fn child<C>(self, configure: impl Fn(Request) -> Request<C> + Send + Sync + 'static) -> Self
    where
        C: CapabilitySet + SatisfiedBy<P>,
    {
        let source = ByType { provider: self.provider.clone(), configure };
        Self { source: Arc::new(source), ..self }
    }
}

impl SubagentToolBuilder<ByProviderName> {
    pub(super) fn named(subagents: &Subagents, name: Arc<str>) -> Self {
        let (subagents, named) = (subagents.clone(), Arc::clone(&name));
        let source =
            ByName { subagents: subagents.clone(), name: named, configure: |request: Request| request };
        let provider = ByProviderName { subagents, name };
        Self { provider, source: Arc::new(source), settings: Settings::default() }
    }

    /// Says what every child is started with beside its prompt: kind of agent, child options, limits. A capability
    /// that the provider lacks fails the start. Parent, run id and cancellation come from the call. Called again, it
    /// replaces what was said before.
    pub fn child<C: CapabilitySet>(
        self,
        configure: impl Fn(Request) -> Request<C> + Send + Sync + 'static,
    ) -> Self {
        let ByProviderName { subagents, name } = self.provider.clone();
        Self { source: Arc::new(ByName { subagents, name, configure }), ..self }
    }
}

impl<P> SubagentToolBuilder<P> {
    /// The tool's name; `subagent` by default. Tools of several providers stand side by side under names of their own.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.settings.name = name.into();
        self
    }

    /// What the tool is for, in place of the default's first sentence. What the child sees of the conversation is
    /// said after it.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.settings.description = Some(description.into());
        self
    }

    /// The most bytes of a child's text that a result shows; 32 KiB by default. The rest can be read with
    /// `read_result`.
    pub fn result_bytes(mut self, bytes: usize) -> Self {
        self.settings.result_bytes = bytes;
        self
    }

    /// The most bytes of a prompt; 1 MiB by default.
    pub fn prompt_bytes(mut self, bytes: usize) -> Self {
        self.settings.prompt_bytes = bytes;
        self
    }

    /// Goes on to a toolset: the model can also delegate in the background, and has tools to control what it
    /// delegated.
    pub fn in_background(self) -> DelegationToolsBuilder<P> {
        DelegationToolsBuilder::new(self)
    }

    /// Makes the tool.
    #[must_use]
    pub fn build(self) -> SubagentTool {
        SubagentTool::new(self.source, self.settings)
    }
}

impl<P> fmt::Debug for SubagentToolBuilder<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubagentToolBuilder")
            .field("provider", &self.source.provider())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
