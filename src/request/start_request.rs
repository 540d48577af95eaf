use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::{RequestBody, Values};
use crate::capability::{Capability, OutputCheck};
use crate::content::{ContentBlock, joined_text};
use crate::id::{RunId, SessionId};
use crate::parent::Parent;
use crate::run::{Cancellation, RunCell};

/// What a provider receives: the request, checked, with the run's id and depth.
///
/// Take each capability value with [`take`](Self::take): a start that succeeds while a requested value was not
/// taken fails with [`StartError::Ignored`](crate::StartError::Ignored), and the child is disposed.
pub struct StartRequest {
    cell: Arc<RunCell>,
    prompt: Vec<ContentBlock>,
    parent: Option<Parent>,
    idempotency_key: Option<Arc<str>>,
    values: Values,
}

impl StartRequest {
    /// The run's id.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        self.cell.identity.run_id
    }

    /// What the child is asked to do.
    #[must_use]
    pub fn prompt(&self) -> &[ContentBlock] {
        &self.prompt
    }

    /// The prompt's text blocks, joined by blank lines: the whole prompt, for a provider that carries text alone.
    #[must_use]
    pub fn prompt_text(&self) -> String {
        joined_text(&self.prompt)
    }

    /// Who delegates, if the caller said so.
    #[must_use]
    pub fn parent(&self) -> Option<&Parent> {
        self.parent.as_ref()
    }

    /// The directory that the child works in: its parent's.
    #[must_use]
    pub fn working_dir(&self) -> Option<&Path> {
        self.parent.as_ref()?.working_dir()
    }

    /// The kind of agent, as the caller names it.
    #[must_use]
    pub fn agent_type(&self) -> Option<&str> {
        self.cell.identity.agent_type.as_deref()
    }

    /// The child as those see it to whom it delegates itself: give it to the requests of its own children. They are
    /// cancelled with this run, are found below it in a [tree](crate::tree), and every limit that binds it binds
    /// them: its parent's, and what was asked for.
    ///
    /// `session` is the child's own. Its model and its tools are for the caller to add.
    ///
    /// ```
    /// use subagent::{Request, SessionId, StartRequest};
    ///
    /// fn task_for_a_child_of_its_own(request: &StartRequest) -> Request {
    ///     Request::new("Look that up").parent(&request.as_parent(SessionId::new()))
    /// }
    /// ```
    #[must_use]
    pub fn as_parent(&self, session: SessionId) -> Parent {
        Parent::of_run(self, session)
    }

    /// Tells a repetition of the same work.
    #[must_use]
    pub fn idempotency_key(&self) -> Option<&str> {
        self.idempotency_key.as_deref()
    }

    /// The child's depth: its parent's, and one.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.cell.identity.depth
    }

    /// How a provider learns that the run is cancelled.
    #[must_use]
    pub fn cancellation(&self) -> Cancellation {
        Cancellation::new(Arc::clone(&self.cell))
    }

    /// The value asked for `C`, which the provider promises to honour; `None` when it was not asked for.
    pub fn take<C: Capability>(&mut self) -> Option<C::Value> {
        let value = self.values.read::<C>()?;
        self.cell.mark_taken(C::NAME);
        Some(value)
    }

    /// The value asked for `C`, without a promise: for wrappers that look at a request.
    #[must_use]
    pub fn peek<C: Capability>(&self) -> Option<C::Value> {
        self.values.read::<C>()
    }

    /// Asks the provider inside a wrapper for `C`, or narrows what was asked for. That provider must take it.
    pub fn narrow<C: Capability>(&mut self, value: C::Value) {
        self.values.ask::<C>(value);
        self.cell.expect_one(C::NAME);
    }

    /// For wrappers: the first requested value that the provider inside has not taken. Where that provider's start
    /// succeeded all the same, it ignores the value.
    #[must_use]
    pub fn first_untaken(&self) -> Option<String> {
        self.cell.first_ignored()
    }

    /// How to tell whether a structured value fits the type that was asked for; `None` where no type was. It speaks
    /// of the type alone: the schema is the value of [`OutputSchema`](crate::OutputSchema).
    #[must_use]
    pub fn output_check(&self) -> Option<OutputCheck> {
        self.cell.check
    }

    /// The same request once more, for a wrapper that starts one child after the other. What an earlier child took
    /// does not count for this one, and what it said is not this one's output.
    ///
    /// Once the provider's `start` has returned, wait for [`Settlement::published`](crate::Settlement::published)
    /// first, and look at [`first_untaken`](Self::first_untaken) when the child has started: the seam looks at the
    /// first start alone.
    #[must_use]
    pub fn attempt(&self) -> Self {
        self.cell.forget_streamed();
        self.cell.expect_taken(self.values.untaken());
        Self {
            cell: Arc::clone(&self.cell),
            prompt: self.prompt.clone(),
            parent: self.parent.clone(),
            idempotency_key: self.idempotency_key.clone(),
            values: self.values.clone(),
        }
    }
}

// Not a function of the type: the compiler would offer it to who has no business to make one.
impl RunCell {
    /// What the provider of this run receives.
    pub(crate) fn start_request(self: &Arc<Self>, body: RequestBody) -> StartRequest {
        self.expect_taken(body.values.untaken());
        StartRequest {
            cell: Arc::clone(self),
            prompt: body.prompt,
            parent: body.parent,
            idempotency_key: body.idempotency_key,
            values: body.values,
        }
    }
}

impl fmt::Debug for StartRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartRequest")
            .field("run_id", &self.run_id())
            .field("prompt", &self.prompt)
            .field("agent_type", &self.agent_type())
            .field("depth", &self.depth())
            .field("capabilities", &self.values)
            .finish_non_exhaustive()
    }
}
