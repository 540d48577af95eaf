use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Behaviour, Resuming, StartProbe, Steering};
use crate::content::ContentBlock;
use crate::parent::Parent;
use crate::provider::Provider;
use crate::request::Prompt;
use crate::result::Outcome;

/// How the suite gets a provider to look at.
pub trait Fixture: Send + Sync + 'static {
    /// The provider.
    type Provider: Provider;

    /// Whether the result of a child that [`Completes`](Behaviour::Completes) says what it used. Checked both ways.
    const REPORTS_USAGE: bool = false;

    /// A new provider whose children behave like this; `None` where it cannot be made to, which must then be
    /// declared in [`cannot_show`](Self::cannot_show).
    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Self::Provider>>;

    /// The behaviours that the provider cannot be made to show, each with the reason.
    /// [`Receives`](Behaviour::Receives) and [`FollowsUp`](Behaviour::FollowsUp) are not listed: they follow from
    /// the type of the provider's runs.
    fn cannot_show(&self) -> Vec<(Behaviour, &'static str)> {
        Vec::new()
    }

    /// One probe for each start-time capability that the provider declares.
    fn start_probes(&self) -> Vec<StartProbe<Self::Provider>> {
        Vec::new()
    }

    /// [`Steering::probe`] where the provider's runs can be steered.
    fn steering(&self) -> Option<Steering<Self::Provider>> {
        None
    }

    /// [`Resuming::probe`] where the provider's runs can be resumed.
    fn resuming(&self) -> Option<Resuming<Self::Provider>> {
        None
    }

    /// How long anything may take: a start, a reaction to a cancellation, a disposal. Be generous; the suite waits
    /// for as long only where something is broken. A twentieth of it serves as grace and as time limit where a check
    /// has to wait for one.
    fn patience(&self) -> Duration {
        Duration::from_secs(20)
    }
}

/// A provider that is set up to show something, and what can be seen of its children.
#[must_use = "the suite starts runs on it"]
pub struct Staged<P> {
    pub(super) provider: P,
    pub(super) prompt: Prompt,
    pub(super) parent: Parent,
    pub(super) live_children: LiveChildren,
    pub(super) seen: Option<Seen>,
}

pub(super) type LiveChildren = Arc<dyn Fn() -> usize + Send + Sync>;
pub(super) type Seen = Arc<dyn Fn() -> Vec<Vec<ContentBlock>> + Send + Sync>;
pub(super) type Honours = Arc<dyn Fn(&Outcome) -> Result<(), String> + Send + Sync>;

impl<P> Staged<P> {
    /// This provider. `live_children` tells how many children exist now, whatever a child is here: a task, a process
    /// with its descendants, a session. Count them apart from the provider's own bookkeeping, at the child itself.
    pub fn new(provider: P, live_children: impl Fn() -> usize + Send + Sync + 'static) -> Self {
        Self {
            provider,
            prompt: "Do the work of the conformance suite.".into(),
            parent: Parent::new("conformance-agent", "conformance-session"),
            live_children: Arc::new(live_children),
            seen: None,
        }
    }

    /// Starts runs with this prompt instead of the suite's own.
    pub fn prompt(mut self, prompt: impl Into<Prompt>) -> Self {
        self.prompt = prompt.into();
        self
    }

    /// Starts runs on behalf of this parent instead of the suite's own, which has a name and nothing else.
    pub fn parent(mut self, parent: Parent) -> Self {
        self.parent = parent;
        self
    }

    /// `seen` tells what the children have seen so far, in order: every message and follow-up, and the prompts too
    /// where the provider carries more than text. Asked for where runs can be steered or resumed.
    pub fn sees(mut self, seen: impl Fn() -> Vec<Vec<ContentBlock>> + Send + Sync + 'static) -> Self {
        self.seen = Some(Arc::new(seen));
        self
    }

    /// The same with another provider: one that wraps this one, for the fixture of a wrapper.
    pub fn map<Q>(self, wrap: impl FnOnce(P) -> Q) -> Staged<Q> {
        Staged {
            provider: wrap(self.provider),
            prompt: self.prompt,
            parent: self.parent,
            live_children: self.live_children,
            seen: self.seen,
        }
    }

    /// For a probe: `check` tells from the outcome, or from what it can see of the child, whether the capability was
    /// honoured, and if not, what it saw instead. Where runs can be resumed it is asked again after a follow-up,
    /// which the child has to handle in the same way.
    pub fn honours(
        self,
        check: impl Fn(&Outcome) -> Result<(), String> + Send + Sync + 'static,
    ) -> Probed<P> {
        Probed { staged: self, honours: Arc::new(check) }
    }
}

impl<P> fmt::Debug for Staged<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged").field("prompt", &self.prompt).finish_non_exhaustive()
    }
}

/// A staged provider that shows whether it honours a capability.
#[must_use = "return it from the closure of a `StartProbe`"]
pub struct Probed<P> {
    pub(super) staged: Staged<P>,
    pub(super) honours: Honours,
}

impl<P> Probed<P> {
    /// The same with another provider, as [`Staged::map`].
    pub fn map<Q>(self, wrap: impl FnOnce(P) -> Q) -> Probed<Q> {
        Probed { staged: self.staged.map(wrap), honours: self.honours }
    }
}

impl<P> fmt::Debug for Probed<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probed").field("staged", &self.staged).finish_non_exhaustive()
    }
}
