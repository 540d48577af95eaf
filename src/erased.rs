//! Runs whose type is known at run time only.

use std::any::{Any, type_name};
use std::fmt;
use std::marker::PhantomData;

use futures::FutureExt;
use futures::future::BoxFuture;

use crate::content::ContentBlock;
use crate::error::{DisposeError, ResumeError, SteerError};
use crate::run::{Absent, Live, Presence, Present, Resumable, Run, Settled, Settlement, Steerable};

/// A run of a provider that is only known by name. `S` and `R` say which runtime capabilities the compiler knows it
/// to have: none at first, and those that [`Live::into_steerable`] and [`Live::into_resumable`] found.
pub struct AnyRun<S = Absent, R = Absent> {
    run: Box<dyn ErasedRun>,
    known: PhantomData<fn() -> (S, R)>,
}

impl AnyRun {
    /// What [`Run::erase`] makes of a run that is not erased already.
    pub(crate) fn new<R: Run>(run: R) -> Self {
        Self { run: Box::new(run), known: PhantomData }
    }
}

impl<S, R> AnyRun<S, R> {
    /// Whether the run has the runtime capability [`Steerable`].
    #[must_use]
    pub fn can_steer(&self) -> bool {
        self.run.can_steer()
    }

    /// Whether the run has the runtime capability [`Resumable`].
    #[must_use]
    pub fn can_resume(&self) -> bool {
        self.run.can_resume()
    }

    fn known_as<S2, R2>(self) -> AnyRun<S2, R2> {
        AnyRun { run: self.run, known: PhantomData }
    }
}

impl<S: Presence, R: Presence> Run for AnyRun<S, R> {
    type Steer = S;
    type Resume = R;

    async fn dispose(self) -> Result<(), DisposeError> {
        self.run.dispose_erased().await
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, _proof: S) -> Result<(), SteerError> {
        self.run.steer_erased(content).await
    }

    async fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        _proof: R,
    ) -> Result<(), ResumeError> {
        self.run.resume_erased(content, settlement).await
    }

    fn dispose_boxed(self) -> BoxFuture<'static, Result<(), DisposeError>> {
        self.run.dispose_erased()
    }

    fn erase(self) -> AnyRun {
        self.known_as()
    }
}

#[diagnostic::do_not_recommend]
impl<R: Presence> Steerable for AnyRun<Present, R> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.run.steer_erased(content).await
    }
}

#[diagnostic::do_not_recommend]
impl<S: Presence> Resumable for AnyRun<S, Present> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.run.resume_erased(content, settlement).await
    }
}

impl<S: Presence, R: Presence, O> Live<AnyRun<S, R>, O> {
    /// The same run with [`send_message`](Self::send_message).
    ///
    /// # Errors
    ///
    /// The handle as it was, when the run cannot be steered.
    pub fn into_steerable(self) -> Result<Live<AnyRun<Present, R>, O>, Self> {
        if self.try_run().is_some_and(AnyRun::can_steer) {
            Ok(self.map_run(AnyRun::known_as))
        } else {
            Err(self)
        }
    }

    /// The same run, which can be resumed once it has settled.
    ///
    /// # Errors
    ///
    /// The handle as it was, when the run cannot be resumed.
    pub fn into_resumable(self) -> Result<Live<AnyRun<S, Present>, O>, Self> {
        if self.try_run().is_some_and(AnyRun::can_resume) {
            Ok(self.map_run(AnyRun::known_as))
        } else {
            Err(self)
        }
    }

    /// The same run by its own type.
    ///
    /// # Errors
    ///
    /// The handle as it was, when the run is of another type.
    pub fn downcast<T: Run>(self) -> Result<Live<T, O>, Self> {
        if !self.try_run().is_some_and(|run| run.run.as_any_ref().is::<T>()) {
            return Err(self);
        }
        let (run, cell) = self.into_parts();
        let run = run.and_then(|run| run.run.into_any().downcast::<T>().ok());
        Ok(Live::rebuild(run.map(|run| *run), cell))
    }
}

impl<S: Presence, R: Presence, O> Settled<AnyRun<S, R>, O> {
    /// The same run with [`resume`](Self::resume).
    ///
    /// # Errors
    ///
    /// The handle as it was, when the run cannot be resumed.
    pub fn into_resumable(self) -> Result<Settled<AnyRun<S, Present>, O>, Self> {
        if !self.try_run().is_some_and(AnyRun::can_resume) {
            return Err(self);
        }
        let (run, cell) = self.into_parts();
        Ok(Settled::rebuild(run.map(AnyRun::known_as), cell))
    }
}

impl<R: Run, O> Live<R, O> {
    /// Forgets the run's type, so that runs of several providers can be held together. What the run can do is found
    /// again with [`into_steerable`](Live::into_steerable), [`into_resumable`](Live::into_resumable) and
    /// [`downcast`](Live::downcast).
    pub fn erase(self) -> Live<AnyRun, O> {
        self.map_run(R::erase)
    }

    pub(crate) fn map_run<T: Run>(self, change: impl FnOnce(R) -> T) -> Live<T, O> {
        let (run, cell) = self.into_parts();
        Live::rebuild(run.map(change), cell)
    }
}

impl<S, R> fmt::Debug for AnyRun<S, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyRun")
            .field("type", &self.run.type_name())
            .field("can_steer", &self.can_steer())
            .field("can_resume", &self.can_resume())
            .finish()
    }
}

trait ErasedRun: Send + Sync {
    fn can_steer(&self) -> bool;
    fn can_resume(&self) -> bool;
    fn type_name(&self) -> &'static str;
    fn as_any_ref(&self) -> &dyn Any;
    fn into_any(self: Box<Self>) -> Box<dyn Any>;
    fn dispose_erased(self: Box<Self>) -> BoxFuture<'static, Result<(), DisposeError>>;
    fn steer_erased(&self, content: Vec<ContentBlock>) -> BoxFuture<'_, Result<(), SteerError>>;
    fn resume_erased(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
    ) -> BoxFuture<'_, Result<(), ResumeError>>;
}

impl<T: Run> ErasedRun for T {
    fn can_steer(&self) -> bool {
        T::Steer::PRESENT
    }

    fn can_resume(&self) -> bool {
        T::Resume::PRESENT
    }

    fn type_name(&self) -> &'static str {
        type_name::<T>()
    }

    fn as_any_ref(&self) -> &dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn dispose_erased(self: Box<Self>) -> BoxFuture<'static, Result<(), DisposeError>> {
        (*self).dispose_boxed()
    }

    fn steer_erased(&self, content: Vec<ContentBlock>) -> BoxFuture<'_, Result<(), SteerError>> {
        match T::Steer::proof() {
            Some(proof) => self.steer_with(content, proof).boxed(),
            // Not reached: only a run that can be steered is known to be.
            None => futures::future::ready(Err(SteerError::Settled)).boxed(),
        }
    }

    fn resume_erased(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
    ) -> BoxFuture<'_, Result<(), ResumeError>> {
        match T::Resume::proof() {
            Some(proof) => self.resume_with(content, settlement, proof).boxed(),
            // Not reached: only a run that can be resumed is known to be.
            None => futures::future::ready(Err(ResumeError::failed("the run cannot be resumed"))).boxed(),
        }
    }
}
