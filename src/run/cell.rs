//! The state of one run, shared by its handle, its settlement and its observers.

mod glimpse;
mod runtime;
mod traffic;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Waker;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Span;

pub(crate) use self::glimpse::Glimpse;
use super::CancelCause;
use super::force_on_drop::ForceOnDrop;
use super::inbox::Messages;
use super::transcript::Transcript;
use super::updates::UpdateLog;
use crate::agent::is_empty_message;
use crate::capability::OutputCheck;
use crate::content::ContentKinds;
use crate::error::RunFault;
use crate::event::RunInfo;
use crate::id::RunId;
use crate::registry::Hub;
use crate::result::Outcome;
use crate::stop_reason::StopReason;
use crate::sync::lock;
use crate::trace;
use crate::usage::Tokens;

/// How a run ended: with an outcome, or without one.
pub(crate) type Verdict = Result<Outcome, RunFault>;

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
    done: Notify,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    verdict: Option<Verdict>,
    cancel: Option<CancelCause>,
    /// The capability values that the provider has to take, and whether it did.
    expected: Vec<(Cow<'static, str>, bool)>,
    transcript: Transcript,
    updates: UpdateLog,
    messages: Messages,
    /// Futures of the caller's tokens; what they wake cancels the run.
    watches: Vec<BoxFuture<'static, ()>>,
    started: Option<Instant>,
    last_activity: Option<Instant>,
    tokens: Tokens,
    /// The run's span, where anyone listens, until it has ended.
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
            done: Notify::new(),
            state: Mutex::new(State {
                phase: Phase::Starting,
                verdict: None,
                cancel: None,
                expected: Vec::new(),
                transcript: Transcript::default(),
                updates: UpdateLog::default(),
                messages: Messages::default(),
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
            state.phase = Phase::Publishing;
            state.last_activity = Some(Instant::now());
            state.started = state.last_activity;
        }
        self.hub.run_started(&self.identity);
        let parked = {
            let mut state = lock(&self.state);
            let parked = state.verdict.take();
            state.phase = if parked.is_some() { Phase::Ending } else { Phase::Live };
            parked
        };
        self.done.notify_waiters();
        if let Some(verdict) = parked {
            self.end(verdict);
        }
        Ok(())
    }

    /// Settles the run, unless it is settled. Before it is published the verdict is parked.
    pub(super) fn settle(&self, verdict: Verdict) {
        {
            let mut state = lock(&self.state);
            match state.phase {
                Phase::Starting | Phase::Publishing => {
                    if state.verdict.is_none() {
                        state.verdict = Some(verdict);
                    }
                    drop(state);
                    self.done.notify_waiters();
                    return;
                }
                Phase::Live => state.phase = Phase::Ending,
                Phase::Ending | Phase::Done | Phase::Abandoned => return,
            }
        }
        self.end(verdict);
    }

    /// Settles the run in its provider's place, with the text streamed so far.
    pub(super) fn force(&self) {
        let cause = lock(&self.state).cancel.clone().unwrap_or(CancelCause::Dropped);
        self.settle(Ok(Outcome::new(cause.stop_reason())));
    }

    /// No child came to be: wakes whoever waits, and leaves no trace.
    pub(crate) fn abandon(&self) {
        let (verdict, tokens, span, watchers, readers) = {
            let mut state = lock(&self.state);
            if state.phase != Phase::Starting {
                return;
            }
            state.phase = Phase::Abandoned;
            let tokens = std::mem::take(&mut state.watches);
            (state.verdict.take(), tokens, state.span.take(), state.updates.close(), state.messages.stop())
        };
        drop((verdict, tokens, span));
        wake(watchers);
        wake(readers);
        self.hub.remove_run(self.identity.run_id);
        self.done.notify_waiters();
    }

    fn end(&self, verdict: Verdict) {
        let (cause, streamed, undelivered, span) = {
            let mut state = lock(&self.state);
            let streamed = state.transcript.last_message();
            state.transcript.clear();
            // From `Ending` on nothing is accepted, so this is all.
            (state.cancel.clone(), streamed, state.messages.drain(), state.span.take())
        };
        let mut verdict = self.judge(verdict, cause, streamed);
        if let Ok(outcome) = &mut verdict {
            outcome.undelivered.extend(undelivered);
        }
        if let Some(span) = span {
            trace::run_ended(&span, &verdict);
        }
        self.hub.run_ended(&self.identity, &verdict);
        self.hub.remove_run(self.identity.run_id);
        let (tokens, watchers, readers) = {
            let mut state = lock(&self.state);
            state.phase = Phase::Done;
            state.verdict = Some(verdict);
            (std::mem::take(&mut state.watches), state.updates.close(), state.messages.stop())
        };
        drop(tokens);
        wake(watchers);
        wake(readers);
        self.done.notify_waiters();
    }

    /// What stands: a cancellation owns every outcome but a completed one, the text streamed so far is the output
    /// of a run without a final message, and a completed run has the value that was asked for.
    fn judge(&self, verdict: Verdict, cause: Option<CancelCause>, streamed: String) -> Verdict {
        let mut outcome = match (verdict, &cause) {
            (Ok(outcome), _) => outcome,
            (Err(_), Some(cause)) => Outcome::new(cause.stop_reason()),
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
        loop {
            let done = self.done.notified();
            if let Some(verdict) = self.verdict() {
                return verdict;
            }
            done.await;
        }
    }

    pub(super) fn verdict(&self) -> Option<Verdict> {
        let state = lock(&self.state);
        if state.phase == Phase::Done { state.verdict.clone() } else { None }
    }

    /// Returns once the run has settled or its start was given up.
    pub(crate) async fn gone(&self) {
        loop {
            let done = self.done.notified();
            if matches!(self.phase(), Phase::Done | Phase::Abandoned) {
                return;
            }
            done.await;
        }
    }

    /// Returns once the run is settled as far as it can be before it is published. A cancelled one is within the
    /// grace.
    pub(super) async fn parked(&self) {
        loop {
            let done = self.done.notified();
            if lock(&self.state).verdict.is_some() || self.phase() == Phase::Abandoned {
                return;
            }
            done.await;
        }
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
        loop {
            let changed = self.done.notified();
            match self.phase() {
                Phase::Starting | Phase::Publishing => changed.await,
                Phase::Live | Phase::Ending | Phase::Done => return true,
                Phase::Abandoned => return false,
            }
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        lock(&self.state).phase
    }

    pub(crate) fn last_activity(&self) -> Option<Instant> {
        lock(&self.state).last_activity
    }

    // ---- cancellation

    /// Cancels the run: its provider is told, and after the grace the seam settles in its place.
    pub(crate) fn cancel(self: &Arc<Self>, cause: CancelCause) {
        let readers = {
            let mut state = lock(&self.state);
            if state.is_over() || state.cancel.is_some() {
                return;
            }
            state.cancel = Some(cause);
            state.messages.stop()
        };
        wake(readers);
        self.cancelled.notify_waiters();
        if let Some(token) = self.token.get() {
            token.cancel();
        }
        // Where no runtime is left, the guard is dropped at once and settles the run.
        let guard = ForceOnDrop(Arc::clone(self));
        let grace = self.hub.cancel_grace();
        self.spawn(async move {
            tokio::select! {
                () = guard.0.gone() => {}
                () = guard.0.pass(grace) => {}
            }
        });
    }

    pub(crate) fn cancel_cause(&self) -> Option<CancelCause> {
        lock(&self.state).cancel.clone()
    }

    pub(crate) async fn cancelled(&self) -> CancelCause {
        loop {
            let cancelled = self.cancelled.notified();
            if let Some(cause) = self.cancel_cause() {
                return cause;
            }
            cancelled.await;
        }
    }

    pub(super) fn token(&self) -> CancellationToken {
        let token = self.token.get_or_init(CancellationToken::new);
        if self.cancel_cause().is_some() {
            token.cancel();
        }
        token.clone()
    }

    /// Keeps the future of a caller's token, polled once; its waker cancels the run.
    pub(super) fn keep_watch(&self, watch: BoxFuture<'static, ()>) {
        let mut state = lock(&self.state);
        if !matches!(state.phase, Phase::Done | Phase::Abandoned) {
            state.watches.push(watch);
        }
    }

    /// Cancels the run when `limit` has passed.
    pub(super) fn limit_time(self: &Arc<Self>, limit: Duration) {
        let cell = Arc::clone(self);
        self.spawn(async move {
            let passed = tokio::select! {
                () = cell.gone() => false,
                () = cell.pass(limit) => true,
            };
            if passed {
                cell.cancel(CancelCause::TimeLimit);
            }
        });
    }

    // ---- capability values

    pub(crate) fn expect_taken(&self, expected: Vec<(Cow<'static, str>, bool)>) {
        lock(&self.state).expected = expected;
    }

    pub(crate) fn expect_one(&self, name: &'static str) {
        let expected = &mut lock(&self.state).expected;
        expected.retain(|(earlier, _)| *earlier != name);
        expected.push((name.into(), false));
    }

    pub(crate) fn mark_taken(&self, name: &str) {
        for (expected, taken) in &mut lock(&self.state).expected {
            *taken |= *expected == name;
        }
    }

    /// The first value that the provider has not taken.
    pub(crate) fn first_ignored(&self) -> Option<String> {
        lock(&self.state).expected.iter().find(|(_, taken)| !taken).map(|(name, _)| name.clone().into_owned())
    }
}

impl State {
    /// Whether the run is settling or settled, or never came to be.
    fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Ending | Phase::Done | Phase::Abandoned)
    }

    fn takes_no_message(&self) -> bool {
        self.is_over() || self.cancel.is_some()
    }
}

fn wake<Id>(waiting: Vec<(Id, Waker)>) {
    for (_, waker) in waiting {
        waker.wake();
    }
}
