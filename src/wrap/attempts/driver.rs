use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use serde_json::json;
use tokio::sync::RwLock;
use tokio_util::sync::CancellationToken;

use super::Plan;
use super::spent::Spent;
use crate::error::{DisposeError, RunFault, chain, contain, message};
use crate::request::StartRequest;
use crate::result::Outcome;
use crate::run::{HeldByTask, Intercepted, Run};
use crate::stop_reason::StopReason;
use crate::update::Update;

/// Sees to one run from its first child on: waits how the child ended, and replaces it or settles the run.
pub(super) struct Driver<P: Plan> {
    pub(super) plan: Arc<P>,
    pub(super) request: StartRequest,
    pub(super) settlement: HeldByTask,
    pub(super) current: Arc<RwLock<Option<P::Run>>>,
    /// Cancelled when the run is disposed of.
    pub(super) stop: CancellationToken,
    /// The number of the child that is there.
    pub(super) attempt: u32,
    /// How that child ends.
    pub(super) intercepted: Intercepted,
}

/// No other child: what there was so far stands.
struct GivenUp;

impl<P: Plan> Driver<P> {
    /// Returns the first failed disposal. The last child stays in its place, to be resumed or disposed of.
    pub(super) async fn drive(mut self) -> Result<(), DisposeError> {
        let mut spent = Spent::default();
        let mut disposal = Ok(());
        loop {
            let verdict = tokio::select! {
                biased;
                verdict = &mut self.intercepted => verdict,
                () = self.stop.cancelled() => {
                    let last = self.current.write().await.take();
                    if let Some(run) = last {
                        disposal = disposal.and(dispose(run).await);
                    }
                    // The child is gone, so it has settled, unless its provider keeps a settlement for later.
                    let verdict = (&mut self.intercepted).now_or_never();
                    verdict.unwrap_or_else(|| Ok(Outcome::new(StopReason::Aborted)))
                }
            };
            let outcome = match verdict {
                Ok(outcome) if self.wants_another(&outcome) => outcome,
                last => {
                    self.settle(spent, last);
                    return disposal;
                }
            };
            // Whether the start stands is decided by the child that started, not by the next one. A wrapper around
            // this one may dispose of the run before that.
            let stands = tokio::select! {
                biased;
                () = self.stop.cancelled() => false,
                published = self.settlement.published() => published,
            };
            if !stands {
                self.settle(spent, Ok(outcome));
                return disposal;
            }
            let Ok(intercepted) = self.replace(&outcome, &mut disposal).await else {
                self.settle(spent, Ok(outcome));
                return disposal;
            };
            self.intercepted = intercepted;
            spent.add(outcome);
        }
    }

    fn wants_another(&self, outcome: &Outcome) -> bool {
        self.attempt < self.plan.attempts()
            && contain(|| self.plan.again_after(outcome)).unwrap_or_else(|message| {
                tracing::error!(message, "the question whether to try again panicked; it counts as no");
                false
            })
    }

    /// Ends the child that failed, and starts the next one.
    async fn replace(
        &mut self,
        failed: &Outcome,
        disposal: &mut Result<(), DisposeError>,
    ) -> Result<Intercepted, GivenUp> {
        let place = Arc::clone(&self.current);
        let mut current = tokio::select! {
            biased;
            () = self.over() => return Err(GivenUp),
            current = place.write() => current,
        };
        if let Some(run) = current.take()
            && let Err(error) = dispose(run).await
        {
            tracing::error!(run_id = %self.request.run_id(), error = chain(&error), "a failed child was not disposed of");
            if disposal.is_ok() {
                *disposal = Err(error);
            }
        }
        while self.attempt < self.plan.attempts() {
            self.pause().await?;
            self.attempt += 1;
            self.report(failed);
            if let Some((run, intercepted)) = self.start().await? {
                *current = Some(run);
                return Ok(intercepted);
            }
        }
        Err(GivenUp)
    }

    /// Returns once the run is cancelled or disposed of.
    async fn over(&self) {
        let cancellation = self.settlement.cancellation();
        tokio::select! {
            () = self.stop.cancelled() => {}
            () = cancellation.cancelled() => {}
        }
    }

    async fn pause(&self) -> Result<(), GivenUp> {
        tokio::select! {
            biased;
            () = self.over() => Err(GivenUp),
            () = tokio::time::sleep(self.plan.pause()) => Ok(()),
        }
    }

    fn report(&self, failed: &Outcome) {
        let data = json!({
            "attempt": self.attempt,
            "stop_reason": failed.stop_reason,
            "diagnostic": failed.diagnostic,
        });
        self.settlement.progress().report(Update::Other { kind: "subagent/attempt".to_owned(), data });
    }

    /// Starts the next child; `None` where it did not start and another may be tried.
    async fn start(&self) -> Result<Option<(P::Run, Intercepted)>, GivenUp> {
        let (inner, intercepted) = self.settlement.intercept();
        let start = self.plan.start(self.attempt, self.request.attempt(), inner);
        let given_up = async {
            self.over().await;
            tokio::time::sleep(self.settlement.cancel_grace()).await;
        };
        let started = tokio::select! {
            biased;
            started = AssertUnwindSafe(start).catch_unwind() => started,
            () = given_up => return Err(GivenUp),
        };
        let run_id = self.request.run_id();
        match started {
            Ok(Ok(run)) => match self.request.first_untaken() {
                None => Ok(Some((run, intercepted))),
                Some(capability) => {
                    tracing::error!(%run_id, capability, "a provider ignored a requested value in a later attempt");
                    dispose(run).await.ok();
                    Err(GivenUp)
                }
            },
            Ok(Err(error)) => {
                tracing::warn!(%run_id, attempt = self.attempt, error = chain(&error), "a child did not start");
                if self.plan.again_after_error(&error) { Ok(None) } else { Err(GivenUp) }
            }
            Err(payload) => {
                tracing::error!(%run_id, panic = message(payload), "a provider panicked while it started a child");
                Err(GivenUp)
            }
        }
    }

    fn settle(self, spent: Spent, verdict: Result<Outcome, RunFault>) {
        self.settlement.into_inner().forward(verdict.map(|outcome| spent.with(outcome)));
    }
}

/// Disposes of a child to the end; a panic is an error.
pub(super) async fn dispose<R: Run>(run: R) -> Result<(), DisposeError> {
    AssertUnwindSafe(run.dispose_boxed())
        .catch_unwind()
        .await
        .unwrap_or_else(|payload| Err(DisposeError::Panicked { message: message(payload) }))
}
