//! What the compiler says of a run type that claims a runtime capability with a macro and does not implement it.

use futures::FutureExt;
use futures::future::BoxFuture;

use super::{Resumable, Settlement, Steerable};
use crate::content::ContentBlock;
use crate::error::{ResumeError, SteerError};

/// What [`steerable!`](crate::steerable) needs of the type that says it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` says `steerable!()`, but does not implement `Steerable`",
    label = "`impl Steerable for {Self}` is missing",
    note = "write `impl subagent::Steerable for {Self}`, or say `subagent::not_steerable!();`"
)]
pub trait KeepsSteerable {
    #[doc(hidden)]
    fn send_message_boxed(&self, content: Vec<ContentBlock>) -> BoxFuture<'_, Result<(), SteerError>>;
}

#[diagnostic::do_not_recommend]
impl<R: Steerable> KeepsSteerable for R {
    fn send_message_boxed(&self, content: Vec<ContentBlock>) -> BoxFuture<'_, Result<(), SteerError>> {
        self.send_message(content).boxed()
    }
}

/// What [`resumable!`](crate::resumable) needs of the type that says it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` says `resumable!()`, but does not implement `Resumable`",
    label = "`impl Resumable for {Self}` is missing",
    note = "write `impl subagent::Resumable for {Self}`, or say `subagent::not_resumable!();`"
)]
pub trait KeepsResumable {
    #[doc(hidden)]
    fn resume_boxed(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
    ) -> BoxFuture<'_, Result<(), ResumeError>>;
}

#[diagnostic::do_not_recommend]
impl<R: Resumable> KeepsResumable for R {
    fn resume_boxed(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
    ) -> BoxFuture<'_, Result<(), ResumeError>> {
        self.resume(content, settlement).boxed()
    }
}
