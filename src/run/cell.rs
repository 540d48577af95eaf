//! The state of one run, shared by its handle, its settlement and its observers.

mod cancel;
mod closed;
mod expected;
mod glimpse;
mod runtime;
mod traffic;
mod waiters;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use self::closed::Closed;
use self::expected::Expected;
pub(crate) use self::glimpse::Glimpse;
use self::traffic::Traffic;
use self::waiters::Waiters;
use super::CancelCause;
use crate::agent::is_empty_message;
use crate::capability::OutputCheck;
use crate::content::{ContentBlock, ContentKinds};
use crate::error::{RunFault, contain};
use crate::event::RunInfo;
use crate::id::RunId;
use crate::registry::Hub;
use crate::result::Outcome;
use crate::stop_reason::StopReason;
use crate::sync::lock;
use crate::trace;
use crate::usage::Tokens;

/// How a run ended: with an outcome, or without one. The outcome changes hands many times on its way to the caller,
/// so it is moved once, into a box.
pub(crate) type Verdict = Result<Box<Outcome>, RunFault>;

/// `Starting → Publishing → Live → Ending → Done`, or `Starting → Abandoned`.
///
/// Whoever moves it to `Ending` tells the listeners; then comes `Done`, then the waiters wake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Starting,
    Publishing,
    Live,
    Ending,
    Done,
    Abandoned,
}

/// What a run is made with.
pub(crate) struct Setup {
    pub(crate) identity: RunInfo,
    pub(crate) content: ContentKinds,
    pub(crate) check: Option<OutputCheck>,
    pub(crate) structured_requested: bool,
}

/// The state of one run.
pub(crate) struct RunCell {
    pub(crate) identity: RunInfo,
    pub(crate) content: ContentKinds,
    pub(crate) structured_requested: bool,
    pub(crate) hub: Arc<Hub>,
    pub(crate) check: Option<OutputCheck>,
    runtime: OnceLock<Handle>,
    token: OnceLock<CancellationToken>,
    cancelled: Notify,
    /// Set, a little later than the phase says so, when the run is settling or never came to be: spares whoever comes
    /// then the lock.
    over: AtomicBool,
    /// The capability values that the provider has to take, and whether it did; unset where none was asked for.
    expected: OnceLock<Mutex<Expected>>,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    verdict: Option<Verdict>,
    cancel: Option<CancelCause>,
    /// Made when something goes through the run: many a child only settles.
    traffic: Option<Box<Traffic>>,
    /// Who waits for the next phase.
    waiters: Waiters,
    /// Futures of the caller's tokens; what they wake cancels the run.
    watches: Vec<BoxFuture<'static, ()>>,
    started: Option<Instant>,
    last_activity: Option<Instant>,
    tokens: Tokens,
    /// The run's span, where anyone listens, until it has ended.
    span: Option<Box<Span>>,
}

/// What a run takes with it as it begins to end.
struct Ending {
    cancel: Option<CancelCause>,
    streamed: String,
    undelivered: Vec<Vec<ContentBlock>>,
    span: Option<Box<Span>>,
}

impl RunCell {
    pub(crate) fn new(setup: Setup, hub: Arc<Hub>) -> Arc<Self> {
        Arc::new(Self {
            identity: setup.identity,
            content: setup.content,
            structured_requested: setup.structured_requested,
            hub,
            check: setup.check,
            runtime: OnceLock::new(),
            token: OnceLock::new(),
            cancelled: Notify::new(),
            over: AtomicBool::new(false),
            expected: OnceLock::new(),
            state: Mutex::new(State {
                phase: Phase::Starting,
                verdict: None,
                cancel: None,
                traffic: None,
                waiters: Waiters::default(),
                watches: Vec::new(),
                started: None,
                last_activity: None,
                tokens: Tokens::default(),
                span: None,
            }),
        })
    }

    /// The cell of a follow-up: a run of its own with the same promises.
    pub(super) fn follow_up(&self, run_id: RunId) -> Arc<Self> {
        let identity = RunInfo { run_id, resumed_from: Some(self.identity.run_id), ..self.identity.clone() };
        let setup = Setup {
            identity,
            content: self.content,
            check: self.check,
            structured_requested: self.structured_requested,
        };
        Self::new(setup, Arc::clone(&self.hub))
    }

    // ---- phases

    /// Publishes the run: from here on it has its pair of events.
    pub(super) fn publish(&self) -> Result<(), CancelCause> {
        {
            let mut state = lock(&self.state);
            if let Some(cause) = &state.cancel {
                return Err(cause.clone());
            }
            state.last_activity = Some(Instant::now());
            state.started = state.last_activity;
            state.phase = Phase::Publishing;
            // Nothing to tell anyone, so nothing to wait for before an outcome may stand.
            if state.verdict.is_none() && state.waiters.is_empty() && self.hub.has_no_listener() {
                state.phase = Phase::Live;
                return Ok(());
            }
        }
        self.hub.run_started(&self.identity);
        let (parked, waiters) = {
            let mut state = lock(&self.state);
            state.phase = Phase::Live;
            let parked = state.verdict.take().map(|verdict| (verdict, state.begin_to_end()));
            (parked, state.waiters.take())
        };
        waiters.wake();
        if let Some((verdict, ending)) = parked {
            self.end(verdict, ending);
        }
        Ok(())
    }

    /// Settles the run, unless it is settled. Before it is published the verdict is parked.
    pub(super) fn settle(&self, verdict: Verdict) {
        let ending = {
            let mut state = lock(&self.state);
            match state.phase {
                Phase::Starting | Phase::Publishing => {
                    if state.verdict.is_none() {
                        state.verdict = Some(verdict);
                    }
                    let waiters = state.waiters.take();
                    drop(state);
                    waiters.wake();
                    return;
                }
                Phase::Live => state.begin_to_end(),
                Phase::Ending | Phase::Done | Phase::Abandoned => return,
            }
        };
        self.end(verdict, ending);
    }

    /// Settles the run in its provider's place, with the text streamed so far, unless it is settled.
    pub(super) fn force(&self) {
        if self.is_known_to_be_over() {
            return;
        }
        let cause = {
            let state = lock(&self.state);
            if state.is_over() {
                return;
            }
            state.cancel.clone().unwrap_or(CancelCause::Dropped)
        };
        self.settle(Ok(Box::new(Outcome::new(cause.stop_reason()))));
    }

    /// No child came to be: wakes whoever waits, and leaves no trace.
    pub(crate) fn abandon(&self) {
        let (verdict, span, closed) = {
            let mut state = lock(&self.state);
            if state.phase != Phase::Starting {
                return;
            }
            state.phase = Phase::Abandoned;
            (state.verdict.take(), state.span.take(), state.close())
        };
        self.over.store(true, Ordering::Release);
        // What the provider settled with is foreign code.
        if let Err(message) = contain(|| drop((verdict, span))) {
            tracing::warn!(run_id = %self.identity.run_id, message, "what a start had settled with panicked while it was dropped");
        }
        self.hub.remove_run(self.identity.run_id);
        closed.wake();
    }

    fn end(&self, verdict: Verdict, ending: Ending) {
        self.over.store(true, Ordering::Release);
        let mut verdict = self.judge(verdict, ending.cancel, ending.streamed);
        if let Ok(outcome) = &mut verdict {
            outcome.undelivered.extend(ending.undelivered);
        }
        if let Some(span) = ending.span {
            trace::run_ended(&span, &verdict);
        }
        self.hub.run_ended(&self.identity, &verdict);
        self.hub.remove_run(self.identity.run_id);
        let closed = {
            let mut state = lock(&self.state);
            state.phase = Phase::Done;
            state.verdict = Some(verdict);
            state.close()
        };
        closed.wake();
    }

    /// What stands: a cancellation owns every outcome but a completed one, the text streamed so far is the output
    /// of a run without a final message, and a completed run has the value that was asked for.
    fn judge(&self, verdict: Verdict, cause: Option<CancelCause>, streamed: String) -> Verdict {
        let mut outcome = match (verdict, &cause) {
            (Ok(outcome), _) => outcome,
            (Err(_), Some(cause)) => Box::new(Outcome::new(cause.stop_reason())),
            (Err(fault), None) => return Err(fault),
        };
        if let Some(cause) = cause
            && !outcome.stop_reason.is_completed()
        {
            outcome.stop_reason = cause.stop_reason();
            outcome.diagnostic.get_or_insert_with(|| cause.to_string());
        }
        if is_empty_message(&outcome.output) {
            outcome.output = streamed.into();
        }
        if outcome.stop_reason == StopReason::Completed && self.structured_requested {
            let run_id = self.identity.run_id;
            let Some(value) = &outcome.structured else { return Err(RunFault::MissingValue { run_id }) };
            if let Some(check) = self.check {
                check.check(value).map_err(|reason| RunFault::WrongValue { run_id, reason })?;
            }
        }
        Ok(outcome)
    }

    // ---- waiting

    /// How the run ended, once it has.
    pub(super) async fn settled(&self) -> Verdict {
        self.until(|state| if state.phase == Phase::Done { state.verdict.clone() } else { None }).await
    }

    /// How the run ended, once it has, for the handle that owns it: nobody else waits for it any more.
    pub(super) async fn take_verdict(&self) -> Verdict {
        self.until(|state| state.is_gone().then(|| state.verdict.take())).await.unwrap_or_else(|| {
            // Not reached: a handle's run was published, and is settled once.
            Err(RunFault::SettlementLost { run_id: self.identity.run_id })
        })
    }

    /// Returns once the run has settled or its start was given up.
    pub(crate) async fn gone(&self) {
        self.until(|state| state.is_gone().then_some(())).await;
    }

    /// Returns once the run is settled as far as it can be before it is published. A cancelled one is within the
    /// grace.
    pub(super) async fn parked(&self) {
        let parked = |state: &mut State| state.verdict.is_some() || state.phase == Phase::Abandoned;
        self.until(|state| parked(state).then_some(())).await;
    }

    /// Returns once the run has settled or its start was given up. A start that nobody polls any more cannot end by
    /// itself: it is given up when it had the grace twice.
    pub(crate) async fn gone_or_forsaken(&self) {
        let patience = async {
            self.pass(self.hub.cancel_grace().saturating_mul(2).saturating_add(Duration::from_secs(1))).await;
            // Where there is no timer, whoever polls the start has at least a turn to do so.
            tokio::task::yield_now().await;
            if self.phase() != Phase::Starting {
                self.gone().await;
            }
        };
        tokio::select! {
            biased;
            () = self.gone() => {}
            () = patience => self.abandon(),
        }
    }

    /// Returns once the run is published, `true`, or its start was given up, `false`.
    pub(super) async fn published(&self) -> bool {
        self.until(|state| match state.phase {
            Phase::Starting | Phase::Publishing => None,
            Phase::Live | Phase::Ending | Phase::Done => Some(true),
            Phase::Abandoned => Some(false),
        })
        .await
    }

    /// Whether the run is settling or settled, or never came to be, as far as that is known without the lock.
    pub(super) fn is_known_to_be_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(crate) fn phase(&self) -> Phase {
        lock(&self.state).phase
    }

    pub(crate) fn last_activity(&self) -> Option<Instant> {
        lock(&self.state).last_activity
    }
}

impl State {
    /// Whether the run is settling or settled, or never came to be.
    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ending | Phase::Done | Phase::Abandoned)
    }

    /// Whether the run has settled or never came to be.
    fn is_gone(&self) -> bool {
        matches!(self.phase, Phase::Done | Phase::Abandoned)
    }

    fn takes_no_message(&self) -> bool {
        self.is_over() || self.cancel.is_some()
    }

    /// From here on nothing is reported and no message accepted: what there is, is all.
    fn begin_to_end(&mut self) -> Ending {
        self.phase = Phase::Ending;
        let (streamed, undelivered) = self.traffic.as_mut().map(|traffic| traffic.end()).unwrap_or_default();
        Ending { cancel: self.cancel.clone(), streamed, undelivered, span: self.span.take() }
    }

    /// Whom to wake and what to drop of a run that is gone.
    fn close(&mut self) -> Closed {
        Closed {
            watches: std::mem::take(&mut self.watches),
            watchers: self.traffic.as_mut().map(|traffic| traffic.updates.take_waiting()).unwrap_or_default(),
            readers: self.stop_reading(),
            waiters: self.waiters.take(),
        }
    }

    /// No message can come any more: whom to wake.
    fn stop_reading(&mut self) -> Vec<(u32, Waker)> {
        self.traffic.as_mut().map(|traffic| traffic.messages.stop()).unwrap_or_default()
    }
}
