use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::keeper::Message;
use super::report::{Ending, Whom};
use super::shared::Shared;
use crate::agent::UsageLedger;
use crate::capability::NoOutput;
use crate::erased::AnyRun;
use crate::id::RunId;
use crate::registry::{Hub, RunControl};
use crate::run::Settled;
use crate::sync::lock;
use crate::usage::Usage;

/// Which ends came first, over all children: reports are delivered in this order.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// One run of a background child, as its owner and its keeper see it.
pub(super) struct Child {
    pub(super) whom: Whom,
    /// What the parent's model calls its task.
    pub(super) description: Arc<str>,
    pub(super) hub: Arc<Hub>,
    pub(super) stop: Stop,
    pub(super) messages: UnboundedSender<Message>,
    /// Where the usage of the child is counted.
    pub(super) ledger: UsageLedger,
    /// What was counted there before.
    pub(super) counted: Usage,
    /// Fires when nothing of the run is at work any more.
    pub(super) gone: CancellationToken,
    owner: Mutex<Weak<Shared>>,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    /// The settled child, for follow-ups.
    kept: Option<Settled<AnyRun, NoOutput>>,
    /// Its owner is gone or has closed: nothing is kept.
    closed: bool,
    followed_by: Option<RunId>,
}

enum Phase {
    Starting,
    Live(RunControl),
    /// Its end waits to be told.
    Ended(u64, Box<Ending>),
    /// Its end was told in a call whose result is not in the log yet.
    Told(u64, Box<Ending>),
    Delivered,
}

/// What a child is doing, for who asks.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ChildState {
    /// Its provider is starting it, or it waits for its turn.
    Starting,
    /// It works.
    Live,
    /// It has settled, and its outcome was not delivered yet.
    Undelivered,
    /// Its outcome was delivered.
    Delivered,
}

/// Ends a child, with a reason.
#[derive(Default)]
pub(super) struct Stop {
    pub(super) token: CancellationToken,
    reason: OnceLock<Arc<str>>,
}

impl Stop {
    pub(super) fn ask(&self, reason: &str) {
        self.reason.get_or_init(|| reason.into());
        self.token.cancel();
    }

    pub(super) fn is_asked(&self) -> bool {
        self.token.is_cancelled()
    }

    pub(super) fn reason(&self) -> Arc<str> {
        self.reason.get().cloned().unwrap_or_else(|| "".into())
    }
}

impl Child {
    pub(super) fn new(
        whom: Whom,
        description: Arc<str>,
        hub: Arc<Hub>,
        ledger: UsageLedger,
        owner: &Arc<Shared>,
        messages: UnboundedSender<Message>,
    ) -> Arc<Self> {
        Arc::new(Self {
            whom,
            description,
            hub,
            stop: Stop::default(),
            messages,
            counted: ledger.usage(),
            ledger,
            gone: CancellationToken::new(),
            owner: Mutex::new(Arc::downgrade(owner)),
            state: Mutex::new(State { phase: Phase::Starting, kept: None, closed: false, followed_by: None }),
        })
    }

    // ---- what the keeper says

    pub(super) fn is_live(&self, control: RunControl) {
        lock(&self.state).phase = Phase::Live(control);
    }

    /// The run is over: whoever owns the child is told.
    pub(super) fn end(&self, ending: Ending) {
        let order = ENDED.fetch_add(1, Ordering::Relaxed);
        lock(&self.state).phase = Phase::Ended(order, Box::new(ending));
        match self.owner() {
            Some(owner) => owner.tell(),
            // Detached, or its parent is gone: the events tell who listens.
            None => lock(&self.state).phase = Phase::Delivered,
        }
    }

    /// Keeps the settled child for follow-ups, unless nobody could ask for one any more.
    pub(super) fn keep(&self, settled: Settled<AnyRun, NoOutput>) -> Option<Settled<AnyRun, NoOutput>> {
        let owned = self.owner().is_some();
        let mut state = lock(&self.state);
        if state.closed || !owned {
            return Some(settled);
        }
        state.kept = Some(settled);
        None
    }

    // ---- what the owner asks

    pub(super) fn state(&self) -> ChildState {
        match lock(&self.state).phase {
            Phase::Starting => ChildState::Starting,
            Phase::Live(_) => ChildState::Live,
            Phase::Ended(..) => ChildState::Undelivered,
            Phase::Told(..) | Phase::Delivered => ChildState::Delivered,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state(), ChildState::Starting | ChildState::Live)
    }

    pub(super) fn control(&self) -> Option<RunControl> {
        match &lock(&self.state).phase {
            Phase::Live(control) => Some(control.clone()),
            _ => None,
        }
    }

    /// When it ended, in the order of all ends, where that is not told yet.
    pub(super) fn undelivered(&self) -> Option<u64> {
        match lock(&self.state).phase {
            Phase::Ended(order, _) => Some(order),
            _ => None,
        }
    }

    /// Takes the end to tell it: once. `confirmed_later` keeps it until the log has it.
    pub(super) fn take(&self, confirmed_later: bool) -> Option<Ending> {
        let mut state = lock(&self.state);
        match std::mem::replace(&mut state.phase, Phase::Delivered) {
            Phase::Ended(order, ending) => {
                if confirmed_later {
                    state.phase = Phase::Told(order, ending.clone());
                }
                Some(*ending)
            }
            other => {
                state.phase = other;
                None
            }
        }
    }

    /// The log has what was told.
    pub(super) fn confirm(&self) {
        let mut state = lock(&self.state);
        if matches!(state.phase, Phase::Told(..)) {
            state.phase = Phase::Delivered;
        }
    }

    /// The log does not have what was told: it is told again.
    pub(super) fn reclaim(&self) {
        let mut state = lock(&self.state);
        state.phase = match std::mem::replace(&mut state.phase, Phase::Delivered) {
            Phase::Told(order, ending) => Phase::Ended(order, ending),
            other => other,
        };
    }

    pub(super) fn take_kept(&self) -> Option<Settled<AnyRun, NoOutput>> {
        lock(&self.state).kept.take()
    }

    pub(super) fn is_kept(&self) -> bool {
        lock(&self.state).kept.is_some()
    }

    /// Keeps nothing from now on, and gives back what was kept.
    pub(super) fn close(&self) -> Option<Settled<AnyRun, NoOutput>> {
        let mut state = lock(&self.state);
        state.closed = true;
        state.kept.take()
    }

    pub(super) fn followed_by(&self) -> Option<RunId> {
        lock(&self.state).followed_by
    }

    pub(super) fn set_followed_by(&self, id: Option<RunId>) {
        lock(&self.state).followed_by = id;
    }

    pub(super) fn owner(&self) -> Option<Arc<Shared>> {
        lock(&self.owner).upgrade()
    }

    pub(super) fn set_owner(&self, owner: Weak<Shared>) {
        let before = std::mem::replace(&mut *lock(&self.owner), owner);
        drop(before);
    }
}
