//! Providers: transports that run children.

use std::future::Future;
use std::sync::Arc;

use crate::capability::{Capabilities, Declares, Supports};
use crate::content::ContentKinds;
use crate::error::StartError;
use crate::request::StartRequest;
use crate::run::{Run, Settlement};

#[doc(inline)]
pub use crate::fork::{Fork, ForkBuilder};
#[doc(inline)]
pub use crate::in_process::{AgentRun, ChildSetupError};
#[doc(inline)]
pub use crate::provider_fn::{ChildContext, FnRun, ProviderFn, provider_fn, steerable_provider_fn};
#[doc(inline)]
pub use crate::spawn::{Spawn, SpawnBuilder};

/// One transport for running a child. Several coexist, each registered under a unique name.
///
/// # Implementing
///
/// - Say what it supports with [`supports!`](crate::supports); `start` takes each requested value from the request.
/// - `start` returns when a child exists. An error means that no child exists and nothing is left behind. Until it
///   returns, the child may already report progress and even settle.
/// - The child ends by settling with `settlement`, on every path, once. Its own failure is an
///   [`Outcome`](crate::Outcome) with a stop reason, not an error.
/// - Watch [`StartRequest::cancellation`]: it also tells that the start itself is no longer wanted.
///
/// [`provider_fn`](crate::provider_fn) makes a provider from an async closure.
///
/// The trait is not for `dyn`: providers of several types are held by name, in [`Subagents`](crate::Subagents), or as a
/// list of [`AnyProviderHandle`](crate::AnyProviderHandle), never as `Vec<Box<dyn Provider>>` (E0191, E0038).
///
/// ```
/// use subagent::{DisposeError, Provider, Run, Settlement, StartError, StartRequest};
///
/// /// Says what it was told.
/// struct Echo;
/// subagent::supports!(Echo:);
///
/// impl Provider for Echo {
///     type Run = EchoRun;
///
///     async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<EchoRun, StartError> {
///         settlement.complete(request.prompt_text());
///         Ok(EchoRun)
///     }
/// }
///
/// struct EchoRun;
///
/// impl Run for EchoRun {
///     subagent::not_steerable!();
///     subagent::not_resumable!();
///
///     async fn dispose(self) -> Result<(), DisposeError> {
///         Ok(())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a provider",
    label = "this type does not implement `subagent::Provider`",
    note = "implement `subagent::Provider`, or make a provider from an async closure with `subagent::provider_fn`"
)]
pub trait Provider: Declares + Send + Sync + 'static {
    /// What it starts.
    type Run: Run;

    /// Starts a child.
    ///
    /// # Errors
    ///
    /// [`StartError::failed`] when no child came to be; whatever was begun is undone.
    ///
    /// # Cancel safety
    ///
    /// If the caller leaves, the seam cancels the run and drives this future on for the cancellation grace before
    /// it drops it; what was launched by then must end with the future's locals.
    fn start(
        &self,
        request: StartRequest,
        settlement: Settlement,
    ) -> impl Future<Output = Result<Self::Run, StartError>> + Send;

    /// The kinds of content that it carries to its child, in prompts, messages and follow-ups. Other content is
    /// refused before the provider is asked. Text alone, unless it says otherwise. Asked once, at registration.
    fn content(&self) -> ContentKinds {
        ContentKinds::TEXT
    }
}

#[diagnostic::do_not_recommend]
impl<P: Declares> Declares for Arc<P> {
    const CAPABILITIES: Capabilities = P::CAPABILITIES;
}

#[diagnostic::do_not_recommend]
impl<P: Supports<C>, C> Supports<C> for Arc<P> {}

#[deny(clippy::missing_trait_methods, reason = "a default method would bypass the provider inside")]
impl<P: Provider> Provider for Arc<P> {
    type Run = P::Run;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<P::Run, StartError> {
        P::start(self, request, settlement).await
    }

    fn content(&self) -> ContentKinds {
        P::content(self)
    }
}
