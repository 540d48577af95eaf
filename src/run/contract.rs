use std::future::Future;

use futures::future::BoxFuture;

use super::{Presence, Present, Settlement};
use crate::content::ContentBlock;
use crate::erased::AnyRun;
use crate::error::{DisposeError, ResumeError, SteerError};

/// What a provider starts: a running child.
///
/// A run type says which runtime capabilities it has with two macros, and the compiler holds it to them:
/// [`steerable!`](crate::steerable) demands `impl Steerable`, [`not_steerable!`](crate::not_steerable) excludes it,
/// and [`resumable!`](crate::resumable) and [`not_resumable!`](crate::not_resumable) do the same for [`Resumable`].
/// Each writes two of the items below. An `impl Run` without them is "missing `Steer`, `Resume`, `steer_with`,
/// `resume_with`" (E0046): add a macro of each pair.
///
/// # Implementing
///
/// Dropping the run must end the child at once, as well as that can be done without waiting: the seam drops a run
/// instead of disposing it only where no runtime is left to wait on.
///
/// ```
/// use subagent::{DisposeError, Run};
///
/// struct TaskRun(Option<tokio::task::JoinHandle<()>>);
///
/// impl Run for TaskRun {
///     subagent::not_steerable!();
///     subagent::not_resumable!();
///
///     async fn dispose(mut self) -> Result<(), DisposeError> {
///         if let Some(task) = self.0.take() {
///             task.abort();
///             task.await.ok();
///         }
///         Ok(())
///     }
/// }
///
/// impl Drop for TaskRun {
///     fn drop(&mut self) {
///         if let Some(task) = &self.0 {
///             task.abort();
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a run",
    label = "this type does not implement `subagent::Run`",
    note = "a provider's `start` returns a type that implements `subagent::Run`"
)]
pub trait Run: Send + Sync + Sized + 'static {
    /// Whether the run can be steered; written by [`steerable!`](crate::steerable) or
    /// [`not_steerable!`](crate::not_steerable).
    type Steer: Presence;

    /// Whether the run can be resumed; written by [`resumable!`](crate::resumable) or
    /// [`not_resumable!`](crate::not_resumable).
    type Resume: Presence;

    /// Ends the child and returns when it is quiescent: its task ended, its process and all descendants gone, its
    /// session released. The run may have settled or not; the seam has cancelled it in the latter case.
    ///
    /// Must come to an end by itself: the seam drives it to its end and does not cut it short.
    ///
    /// # Errors
    ///
    /// [`DisposeError::failed`] when something of the child may be left.
    ///
    /// # Cancel safety
    ///
    /// The seam never drops this future half way while a runtime is left.
    fn dispose(self) -> impl Future<Output = Result<(), DisposeError>> + Send;

    /// Sends a message to a run that has the capability: what every message goes through, on a typed handle and by
    /// name. [`steerable!`](crate::steerable) writes it; a wrapper's run writes it by hand, does its work here and
    /// forwards to the run inside, and its `impl Steerable` calls this.
    ///
    /// # Errors
    ///
    /// As [`Steerable::send_message`].
    ///
    /// # Cancel safety
    ///
    /// As [`Steerable::send_message`].
    fn steer_with(
        &self,
        content: Vec<ContentBlock>,
        proof: Self::Steer,
    ) -> impl Future<Output = Result<(), SteerError>> + Send;

    /// Resumes a run that has the capability: what every follow-up goes through, on a typed handle and by name.
    /// [`resumable!`](crate::resumable) writes it; a wrapper's run writes it by hand, does its work here and forwards
    /// to the run inside, and its `impl Resumable` calls this.
    ///
    /// # Errors
    ///
    /// As [`Resumable::resume`].
    ///
    /// # Cancel safety
    ///
    /// As [`Resumable::resume`].
    fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        proof: Self::Resume,
    ) -> impl Future<Output = Result<(), ResumeError>> + Send;

    /// [`dispose`](Self::dispose) in a box; erased runs have one already.
    #[doc(hidden)]
    fn dispose_boxed(self) -> BoxFuture<'static, Result<(), DisposeError>> {
        Box::pin(self.dispose())
    }

    /// The run with its type forgotten; an erased run stays the one that it is.
    #[doc(hidden)]
    fn erase(self) -> AnyRun {
        AnyRun::new(self)
    }
}

/// A run that takes messages while it is live.
///
/// # Implementing
///
/// An accepted message is seen by the child before the run settles, in the order accepted, exactly once; what a
/// cancelled or failed run did not deliver is listed in its [`Outcome::undelivered`](crate::Outcome). Where the
/// child takes no more messages, answer [`SteerError::Settled`].
#[diagnostic::on_unimplemented(
    message = "run `{Self}` cannot be steered",
    label = "`{Self}` does not have the runtime capability `Steerable`",
    note = "start the work on a provider whose runs implement `Steerable`, or say it all in the prompt",
    note = "an erased run is narrowed first, with `into_steerable()`"
)]
pub trait Steerable: Run<Steer = Present> {
    /// Hands a message to the child. `Ok` means accepted, not read.
    ///
    /// # Errors
    ///
    /// [`SteerError::Settled`] when the child takes no more messages, [`SteerError::failed`] when it could not be
    /// reached.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the message was accepted or not; nothing of it is accepted in part.
    fn send_message(&self, content: Vec<ContentBlock>)
    -> impl Future<Output = Result<(), SteerError>> + Send;
}

/// A run that takes a follow-up in the same session once it has settled.
///
/// # Implementing
///
/// Every limit, filter, persona and output type of the first request stays in force. The follow-up ends with its
/// own `settlement`.
#[diagnostic::on_unimplemented(
    message = "run `{Self}` cannot be resumed",
    label = "`{Self}` does not have the runtime capability `Resumable`",
    note = "start the work on a provider whose runs implement `Resumable`, or start a new run",
    note = "an erased run is narrowed first, with `into_resumable()`"
)]
pub trait Resumable: Run<Resume = Present> {
    /// Starts a follow-up turn. `Ok` means that the child works on it.
    ///
    /// # Errors
    ///
    /// [`ResumeError::failed`] when the child did not take it; the run is then as settled as before.
    ///
    /// # Cancel safety
    ///
    /// If the caller leaves, the seam drives this future on for the cancellation grace and then drops it, and the
    /// run with it.
    fn resume(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
    ) -> impl Future<Output = Result<(), ResumeError>> + Send;
}
