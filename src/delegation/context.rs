use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::Delegations;
use super::shared::Shared;
use crate::agent::{ToolContext, UsageLedger};
use crate::parent::Parent;

/// Who calls a delegation tool, and what ends the call. Cheap to clone.
///
/// The built-in agent's tools make it from their context. Another agent loop says who delegates:
///
/// ```
/// use subagent::Parent;
/// use subagent::delegation::{CallContext, Delegations};
///
/// let parent = Parent::new("agent-1", "session-1");
/// let delegations = Delegations::new(); // one for each agent, for as long as it lives
/// let context = CallContext::new().parent(&parent).delegations(&delegations);
/// ```
#[derive(Clone, Default)]
#[must_use = "a context does nothing until a tool is called with it"]
pub struct CallContext {
    pub(super) parent: Option<Parent>,
    pub(super) delegations: Option<Arc<Shared>>,
    pub(super) cancellation: CancellationToken,
    /// The built-in agent's own context: its log confirms what was delivered.
    pub(super) agent: Option<ToolContext>,
}

impl CallContext {
    /// A call of nobody: nothing can be delegated until it has a parent.
    pub fn new() -> Self {
        Self::default()
    }

    /// Says who delegates. The parent's own cancellation reaches all its children.
    pub fn parent(mut self, parent: &Parent) -> Self {
        self.parent = Some(parent.clone());
        self
    }

    /// Says what the parent has delegated so far: whose background children the call may see and control.
    pub fn delegations(mut self, delegations: &Delegations) -> Self {
        self.delegations = Some(Arc::clone(delegations.shared()));
        self
    }

    /// The token that ends the call, and with it a child that the call waits for. Background children go on.
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = token;
        self
    }

    /// The parent, with a ledger of its own for one child.
    pub(super) fn parent_of_one(&self) -> Result<(Parent, UsageLedger), String> {
        let Some(parent) = self.parent.clone() else {
            return Err(
                "No agent is known to be calling, so nothing can be delegated. The program that offers this \
                        tool has to say who its parent is."
                    .to_owned(),
            );
        };
        let ledger = parent.usage().map_or_else(UsageLedger::new, UsageLedger::child_of);
        Ok((parent.with_usage(ledger.clone()), ledger))
    }

    pub(super) fn owned(&self) -> Result<&Arc<Shared>, String> {
        self.delegations.as_ref().ok_or_else(|| {
            "Nobody would own a background agent here, so there are none. The program that offers this tool has to \
             give it the parent's `Delegations`."
                .to_owned()
        })
    }

    /// Tells that the call is making progress.
    pub(super) fn report_activity(&self) {
        if let Some(agent) = &self.agent {
            agent.report_activity();
        }
    }

    /// Whether a log confirms later what the call hands out.
    pub(super) fn is_confirmed_later(&self) -> bool {
        self.agent.is_some()
    }
}

impl From<&ToolContext> for CallContext {
    fn from(context: &ToolContext) -> Self {
        Self {
            // What is delegated in the background outlives the turn; the call's own token ends the rest.
            parent: Some(Parent::from(&context.agent).without_cancellation()),
            delegations: Some(Arc::clone(&context.agent.delegations)),
            cancellation: context.cancellation.clone(),
            agent: Some(context.clone()),
        }
    }
}

impl fmt::Debug for CallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext").field("parent", &self.parent).finish_non_exhaustive()
    }
}
