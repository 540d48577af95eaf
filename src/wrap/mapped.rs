use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::content::ContentBlock;
use crate::error::{DisposeError, ResumeError, StartError, SteerError};
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::result::Outcome;
use crate::run::{Present, Resumable, Run, Settlement, Steerable};

/// A run whose outcomes a wrapper changes: its own and that of every follow-up. It can be steered and resumed where
/// the run inside can.
///
/// It is the run type of a wrapper whose change has to reach follow-ups, where
/// [`Settlement::map`](crate::Settlement::map) alone changes one outcome:
///
/// ```
/// use subagent::wrap::MappedRun;
/// use subagent::{ContentKinds, Provider, Settlement, StartError, StartRequest};
///
/// /// Says whose answer it is.
/// struct Signed<P>(P);
/// subagent::supports!(Signed<P> => P);
///
/// impl<P: Provider> Provider for Signed<P> {
///     type Run = MappedRun<P::Run>;
///
///     async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
///         MappedRun::start(&self.0, request, settlement, |mut outcome| {
///             outcome.output = format!("{}, says the child", outcome.output.to_text()).into();
///             outcome
///         })
///         .await
///     }
///
///     fn content(&self) -> ContentKinds {
///         self.0.content()
///     }
/// }
/// ```
pub struct MappedRun<R> {
    run: R,
    change: Change,
}

type Change = Arc<dyn Fn(Outcome) -> Outcome + Send + Sync>;

impl<R: Run> MappedRun<R> {
    /// Starts a child of `inner`, and has each outcome of its run and its follow-ups pass through `change`, as
    /// [`Settlement::map`](crate::Settlement::map) does with one.
    ///
    /// # Errors
    ///
    /// What the start of `inner` fails with.
    ///
    /// # Cancel safety
    ///
    /// As [`Provider::start`].
    pub async fn start<P: Provider<Run = R>>(
        inner: &P,
        request: StartRequest,
        settlement: Settlement,
        change: impl Fn(Outcome) -> Outcome + Send + Sync + 'static,
    ) -> Result<Self, StartError> {
        let change: Change = Arc::new(change);
        let run = inner.start(request, changed(settlement, &change)).await?;
        Ok(Self { run, change })
    }
}

impl<R: Run> Run for MappedRun<R> {
    type Steer = R::Steer;
    type Resume = R::Resume;

    async fn dispose(self) -> Result<(), DisposeError> {
        self.run.dispose().await
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, proof: R::Steer) -> Result<(), SteerError> {
        self.run.steer_with(content, proof).await
    }

    async fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        proof: R::Resume,
    ) -> Result<(), ResumeError> {
        self.run.resume_with(content, changed(settlement, &self.change), proof).await
    }

    fn dispose_boxed(self) -> BoxFuture<'static, Result<(), DisposeError>> {
        self.run.dispose_boxed()
    }
}

#[diagnostic::do_not_recommend]
impl<R: Steerable> Steerable for MappedRun<R> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.steer_with(content, Present).await
    }
}

#[diagnostic::do_not_recommend]
impl<R: Resumable> Resumable for MappedRun<R> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.resume_with(content, settlement, Present).await
    }
}

fn changed(settlement: Settlement, change: &Change) -> Settlement {
    let change = Arc::clone(change);
    settlement.map(move |outcome| change(outcome))
}

impl<R: fmt::Debug> fmt::Debug for MappedRun<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedRun").field("run", &self.run).finish_non_exhaustive()
    }
}
