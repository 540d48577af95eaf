use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::link::Reply;
use super::updates::UpdateReader;
use crate::update::Update;

/// How many updates may wait for whoever drives the turn; more slow the child down.
const QUEUED: usize = 32;
/// Sooner than this, an empty answer after a cancelled or failed turn belongs to that turn.
const STALE: Duration = Duration::from_secs(2);

/// The turns of one session: at most one at a time, each with its own updates and its own end.
#[derive(Debug)]
pub(super) struct Turns {
    state: Mutex<State>,
    /// Told of every update, whether anybody listens or not.
    activity: Notify,
    /// Permission requests that are being decided.
    held: AtomicUsize,
}

#[derive(Debug)]
struct State {
    session: Option<String>,
    phase: Phase,
    begun: u64,
    /// The turn before was cancelled or failed: its answer may still come.
    suspect: bool,
}

#[derive(Debug)]
enum Phase {
    Idle,
    /// The session is being opened again; what comes is the past.
    Restoring {
        replayed: usize,
    },
    Running(Active),
    Cancelling(Active),
    /// A cancelled turn never ended: nothing the session says can be trusted.
    Poisoned,
    /// The agent is gone.
    Lost,
}

#[derive(Debug)]
struct Active {
    number: u64,
    events: mpsc::Sender<TurnEvent>,
    /// Cancelled when the turn is cancelled or over.
    over: CancellationToken,
    reader: UpdateReader,
    said_something: bool,
    begun: Instant,
    suspect: bool,
}

/// What happens in a turn, in the order in which the agent said it.
#[derive(Debug)]
pub(super) enum TurnEvent {
    Update(Update),
    /// The agent answered the prompt; nothing follows.
    Answered {
        reply: Reply,
        /// The answer is that of an earlier turn.
        stale: bool,
    },
}

/// A turn that began. Its events end without an answer where the agent is gone.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) number: u64,
    pub(super) events: mpsc::Receiver<TurnEvent>,
}

/// Why no turn can begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoTurn {
    /// One is in flight.
    Busy,
    /// The session has to be opened again first.
    Poisoned,
    /// The agent is gone.
    Lost,
}

impl Turns {
    pub(super) fn new() -> Self {
        Self {
            state: Mutex::new(State { session: None, phase: Phase::Idle, begun: 0, suspect: false }),
            activity: Notify::new(),
            held: AtomicUsize::new(0),
        }
    }

    /// Updates of this session count from now on.
    pub(super) fn open(&self, session: &str) {
        self.state().session = Some(session.to_owned());
    }

    /// The session is about to be opened again; what it replays is counted, and kept out of every turn.
    pub(super) fn begin_restoring(&self, session: &str) -> Result<(), NoTurn> {
        let mut state = self.state();
        match state.phase {
            Phase::Lost => return Err(NoTurn::Lost),
            Phase::Running(_) | Phase::Cancelling(_) => return Err(NoTurn::Busy),
            Phase::Idle | Phase::Restoring { .. } | Phase::Poisoned => {}
        }
        state.session = Some(session.to_owned());
        state.phase = Phase::Restoring { replayed: 0 };
        Ok(())
    }

    /// The session is open again, or not; says how much was replayed.
    pub(super) fn end_restoring(&self, restored: bool) -> usize {
        let mut state = self.state();
        let Phase::Restoring { replayed } = state.phase else { return 0 };
        state.phase = if restored { Phase::Idle } else { Phase::Poisoned };
        state.suspect &= !restored;
        replayed
    }

    pub(super) fn begin(&self) -> Result<Begun, NoTurn> {
        let mut state = self.state();
        match state.phase {
            Phase::Idle => {}
            Phase::Running(_) | Phase::Cancelling(_) | Phase::Restoring { .. } => return Err(NoTurn::Busy),
            Phase::Poisoned => return Err(NoTurn::Poisoned),
            Phase::Lost => return Err(NoTurn::Lost),
        }
        state.begun += 1;
        let number = state.begun;
        let (events_in, events) = mpsc::channel(QUEUED);
        let suspect = std::mem::take(&mut state.suspect);
        state.phase = Phase::Running(Active {
            number,
            events: events_in,
            over: CancellationToken::new(),
            reader: UpdateReader::default(),
            said_something: false,
            begun: Instant::now(),
            suspect,
        });
        Ok(Begun { number, events })
    }

    /// Whether a turn was running, so that the agent has to be told.
    pub(super) fn cancel(&self) -> bool {
        let mut state = self.state();
        match std::mem::replace(&mut state.phase, Phase::Idle) {
            Phase::Running(active) => {
                active.over.cancel();
                state.phase = Phase::Cancelling(active);
                true
            }
            phase => {
                state.phase = phase;
                false
            }
        }
    }

    /// Gives a turn up that does not end.
    pub(super) fn poison(&self) {
        let mut state = self.state();
        match &state.phase {
            Phase::Running(active) | Phase::Cancelling(active) => {
                active.over.cancel();
                state.phase = Phase::Poisoned;
            }
            _ => {}
        }
    }

    /// An update of some session arrived.
    pub(super) async fn update(&self, mut params: Value) {
        let (events, updates) = {
            let mut state = self.state();
            let session = params["sessionId"].as_str();
            if session.is_none() || session != state.session.as_deref() {
                return;
            }
            self.activity.notify_waiters();
            match &mut state.phase {
                Phase::Restoring { replayed } => {
                    *replayed += usize::from(is_of_the_conversation(&params));
                    return;
                }
                Phase::Running(active) | Phase::Cancelling(active) => {
                    active.said_something |= is_of_the_conversation(&params);
                    (active.events.clone(), active.reader.read(params["update"].take()))
                }
                Phase::Idle | Phase::Poisoned | Phase::Lost => return,
            }
        };
        for update in updates {
            if events.send(TurnEvent::Update(update)).await.is_err() {
                return;
            }
        }
    }

    /// The agent answered the prompt of this turn.
    pub(super) async fn answered(&self, number: u64, reply: Reply) {
        let (active, is_late) = {
            let mut state = self.state();
            let (active, cancelled) = match std::mem::replace(&mut state.phase, Phase::Idle) {
                Phase::Running(active) if active.number == number => (active, false),
                Phase::Cancelling(active) if active.number == number => (active, true),
                phase => {
                    state.phase = phase;
                    return;
                }
            };
            active.over.cancel();
            let is_late = !cancelled
                && active.suspect
                && !active.said_something
                && active.begun.elapsed() < STALE
                && reply.as_ref().is_ok_and(|answer| {
                    matches!(answer["stopReason"].as_str(), Some("end_turn" | "cancelled"))
                });
            if is_late {
                // The answer to this prompt is still to come.
                state.phase = Phase::Poisoned;
            }
            state.suspect = cancelled || is_late || reply.is_err();
            (active, is_late)
        };
        drop(active.events.send(TurnEvent::Answered { reply, stale: is_late }).await);
    }

    /// The agent is gone: the events of its turn end.
    pub(super) fn lost(&self) {
        let phase = std::mem::replace(&mut self.state().phase, Phase::Lost);
        if let Phase::Running(active) | Phase::Cancelling(active) = phase {
            active.over.cancel();
        }
        self.activity.notify_waiters();
    }

    /// The turn that a permission request belongs to; `None` where it is to be answered `cancelled`.
    pub(super) fn permission(&self) -> Option<HeldPermission<'_>> {
        let state = self.state();
        let Phase::Running(active) = &state.phase else { return None };
        self.held.fetch_add(1, Ordering::Relaxed);
        Some(HeldPermission { turns: self, over: active.over.clone(), events: active.events.clone() })
    }

    /// Whether the agent waits for a decision of ours.
    pub(super) fn is_deciding(&self) -> bool {
        self.held.load(Ordering::Relaxed) > 0
    }

    /// Whether a turn is under way that is not cancelled.
    pub(super) fn is_running(&self) -> bool {
        matches!(self.state().phase, Phase::Running(_))
    }

    /// Nothing the session says can be trusted.
    pub(super) fn poison_idle(&self) {
        let mut state = self.state();
        if matches!(state.phase, Phase::Idle) {
            state.phase = Phase::Poisoned;
        }
    }

    /// Lets late updates of the turn before pass, if there was one.
    pub(super) async fn quiet_before_turn(&self, silence: Duration, limit: Duration) {
        let had_a_turn = self.state().begun > 0;
        if had_a_turn {
            self.quiet(silence, limit).await;
        }
    }

    /// Waits until no update has come for a while, but not longer than `limit`.
    pub(super) async fn quiet(&self, silence: Duration, limit: Duration) {
        let end = Instant::now() + limit;
        while Instant::now() < end
            && tokio::time::timeout(silence, self.activity.notified()).await.is_ok()
            && !matches!(self.state().phase, Phase::Lost)
        {}
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A permission request that is being decided.
#[derive(Debug)]
pub(super) struct HeldPermission<'a> {
    turns: &'a Turns,
    pub(super) over: CancellationToken,
    pub(super) events: mpsc::Sender<TurnEvent>,
}

impl Drop for HeldPermission<'_> {
    fn drop(&mut self) {
        self.turns.held.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether an update is part of what is said and done, not news about the session.
fn is_of_the_conversation(params: &Value) -> bool {
    matches!(
        params["update"]["sessionUpdate"].as_str(),
        Some(
            "agent_message_chunk"
                | "agent_thought_chunk"
                | "user_message_chunk"
                | "tool_call"
                | "tool_call_update"
                | "plan"
        )
    )
}

#[cfg(test)]
mod tests;
