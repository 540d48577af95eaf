//! Providers made from an async closure.

mod answer;
mod context;
mod run;
mod task;

use std::fmt;
use std::marker::PhantomData;

pub use context::ChildContext;
pub use run::FnRun;

use crate::capability::Declares;
use crate::content::ContentKinds;
use crate::error::StartError;
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::result::Outcome;
use crate::run::{Absent, Inbox, Presence, Present, Settlement};

/// Makes a provider from an async closure: the shortest way for those who have an agent already.
///
/// Each run calls the closure once, and its future is the child: one Tokio task. What the future returns becomes the
/// run's [`Outcome`]: an outcome, text, content blocks, nothing (the text reported so far is then the output), or a
/// `Result` of them. An error ends the run with [`StopReason::Error`](crate::StopReason::Error), and **its text is
/// the diagnostic, which anyone may see**: return errors without secrets. A panic ends the run in the same way, with
/// a fixed text.
///
/// ```
/// use subagent::{Request, StopReason, Subagents, provider_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let subagents = Subagents::new();
/// let counter = provider_fn(async |context| {
///     let text = context.request.prompt_text();
///     if text.len() > 1_000 {
///         return Err("the text is too long to count");
///     }
///     Ok(format!("{} words", text.split_whitespace().count()))
/// });
/// let counter = subagents.register("counter", counter)?;
///
/// let run = counter.start(Request::new("one two three")).await?;
/// let result = run.collect().await.into_result()?;
/// assert_eq!(result.stop_reason(), &StopReason::Completed);
/// assert_eq!(result.text(), "3 words");
/// # Ok(())
/// # }
/// ```
///
/// A closure that needs something of its own clones it before the future:
///
/// ```
/// # use std::sync::Arc;
/// # struct Agent;
/// # impl Agent { async fn answer(&self, _prompt: String) -> String { String::new() } }
/// let agent = Arc::new(Agent);
/// let provider = subagent::provider_fn(move |context| {
///     let agent = Arc::clone(&agent);
///     async move { agent.answer(context.request.prompt_text()).await }
/// });
/// ```
///
/// # Cancellation
///
/// The closure learns of it through [`ChildContext::cancellation`] and may return what it has. If it has not returned
/// within the cancellation grace, the seam settles in its place. The task itself ends when the run is disposed of or
/// dropped: then the future is dropped at its next `.await`, and `dispose` waits for that. A closure that blocks its
/// thread cannot be ended by anyone.
pub fn provider_fn<F, Fut, A>(child: F) -> ProviderFn<F>
where
    F: Fn(ChildContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = A> + Send + 'static,
    A: Into<Outcome>,
{
    ProviderFn::new(child)
}

/// Makes a provider whose runs are [`Steerable`](crate::Steerable) from an async closure: as [`provider_fn`], with an
/// inbox.
///
/// A message that the run accepted is either received by the closure or listed in the result's undelivered messages,
/// exactly once. When the closure has returned, messages are refused.
///
/// ```
/// use subagent::{Request, Subagents, steerable_provider_fn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let echo = steerable_provider_fn(async |context, mut inbox| match inbox.recv_text().await {
///     Some(message) => format!("{}, {message}", context.request.prompt_text()),
///     None => "nothing came".to_owned(),
/// });
/// let subagents = Subagents::new();
/// let echo = subagents.register("echo", echo)?;
///
/// let run = echo.start(Request::new("Wait for a word")).await?;
/// run.send_message("this one").await?;
/// assert_eq!(run.collect().await.into_result()?.text(), "Wait for a word, this one");
/// # Ok(())
/// # }
/// ```
pub fn steerable_provider_fn<F, Fut, A>(child: F) -> ProviderFn<F, Present>
where
    F: Fn(ChildContext, Inbox) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = A> + Send + 'static,
    A: Into<Outcome>,
{
    ProviderFn::new(child)
}

/// A provider made from an async closure with [`provider_fn`] or [`steerable_provider_fn`].
///
/// `S` says whether its runs can be steered, and `D` which start-time capabilities the closure honours: none, unless
/// [`supporting`](Self::supporting) said so.
pub struct ProviderFn<F, S = Absent, D = ()> {
    child: F,
    content: ContentKinds,
    kind: PhantomData<fn() -> (S, D)>,
}

crate::supports!((): );
crate::supports!([F: Send, S: Send] ProviderFn<F, S, D> => D);

impl<F, S> ProviderFn<F, S> {
    fn new(child: F) -> Self {
        Self { child, content: ContentKinds::TEXT, kind: PhantomData }
    }
}

impl<F, S, D> ProviderFn<F, S, D> {
    /// Declares that the closure honours the start-time capabilities that `Honoured` declares, instead of those it
    /// declared so far.
    ///
    /// The closure takes each value from its request **before** its future begins, which is still within the start:
    /// a value that it did not take by then fails the start with [`StartError::Ignored`], as for any provider.
    ///
    /// ```
    /// use subagent::{Persona, provider_fn};
    ///
    /// struct Honoured;
    /// subagent::supports!(Honoured: Persona);
    ///
    /// let provider = provider_fn(|mut context| {
    ///     let persona = context.request.take::<Persona>();
    ///     async move { format!("I am {}", persona.as_deref().unwrap_or("nobody")) }
    /// })
    /// .supporting::<Honoured>();
    /// ```
    pub fn supporting<Honoured: Declares>(self) -> ProviderFn<F, S, Honoured> {
        ProviderFn { child: self.child, content: self.content, kind: PhantomData }
    }

    /// Says which kinds of content the closure understands; text alone by default.
    #[must_use]
    pub fn carrying(mut self, content: ContentKinds) -> Self {
        self.content = content;
        self
    }
}

impl<F, Fut, A, D> Provider for ProviderFn<F, Absent, D>
where
    F: Fn(ChildContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = A> + Send + 'static,
    A: Into<Outcome>,
    D: Declares + 'static,
{
    type Run = FnRun;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<FnRun, StartError> {
        let child = (self.child)(ChildContext::new(request, &settlement));
        settlement.check_taken()?;
        Ok(FnRun::new(task::spawn(child, settlement), None))
    }

    fn content(&self) -> ContentKinds {
        self.content
    }
}

impl<F, Fut, A, D> Provider for ProviderFn<F, Present, D>
where
    F: Fn(ChildContext, Inbox) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = A> + Send + 'static,
    A: Into<Outcome>,
    D: Declares + 'static,
{
    type Run = FnRun<Present>;

    async fn start(
        &self,
        request: StartRequest,
        settlement: Settlement,
    ) -> Result<FnRun<Present>, StartError> {
        let (sender, inbox) = settlement.inbox();
        let child = (self.child)(ChildContext::new(request, &settlement), inbox);
        settlement.check_taken()?;
        Ok(FnRun::new(task::spawn(child, settlement), Some(sender)))
    }

    fn content(&self) -> ContentKinds {
        self.content
    }
}

impl<F: Clone, S, D> Clone for ProviderFn<F, S, D> {
    fn clone(&self) -> Self {
        Self { child: self.child.clone(), content: self.content, kind: PhantomData }
    }
}

impl<F, S: Presence, D: Declares> fmt::Debug for ProviderFn<F, S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderFn")
            .field("steerable", &S::PRESENT)
            .field("capabilities", &D::CAPABILITIES)
            .finish_non_exhaustive()
    }
}
