use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::grammar::Grammar;
use super::{AppendError, SessionEvent, SessionEventKind, SessionHeader, SessionPrefix};

/// A handle to a session's log, for reading; cheap to clone. The [`SessionWriter`](super::SessionWriter) appends.
#[derive(Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

impl Session {
    /// What is known of the session from its beginning.
    #[must_use]
    pub fn header(&self) -> &SessionHeader {
        &self.shared.header
    }

    /// How many events the log holds.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.log().len()
    }

    /// Whether the log holds no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The log as it is now.
    #[must_use]
    pub fn snapshot(&self) -> SessionSnapshot {
        let log = self.log();
        SessionSnapshot {
            completed: log.completed.clone(),
            open: log.open.as_slice().into(),
            seed_length: self.shared.header.seed_length,
        }
    }

    /// The turns that are complete now: what a fork inherits. A turn in flight is left out.
    #[must_use]
    pub fn completed_prefix(&self) -> SessionPrefix {
        self.log().completed.clone()
    }

    pub(super) fn new(header: SessionHeader, seed: SessionPrefix) -> Self {
        Self { shared: Arc::new(Shared { header, log: Mutex::new(Log::new(seed)) }) }
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        // Nothing that can panic runs under the lock.
        self.shared.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("header", &self.shared.header).field("len", &self.len()).finish()
    }
}

/// A session's log as it was at one moment. Completed turns are shared, not copied.
#[derive(Clone)]
pub struct SessionSnapshot {
    completed: SessionPrefix,
    open: Arc<[Arc<SessionEvent>]>,
    seed_length: u64,
}

impl SessionSnapshot {
    /// How many events it holds.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.completed.len() + self.open.len() as u64
    }

    /// Whether it holds no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The events, from the first.
    pub fn events(&self) -> impl Iterator<Item = &SessionEvent> {
        self.events_from(0)
    }

    /// The session's own events: those after the part that it inherited.
    pub fn own_events(&self) -> impl Iterator<Item = &SessionEvent> {
        self.events_from(self.seed_length)
    }

    /// The events from `sequence` on.
    pub fn events_from(&self, sequence: u64) -> impl Iterator<Item = &SessionEvent> {
        let open = self.open.iter().map(AsRef::as_ref).skip_while(move |event| event.sequence < sequence);
        self.completed.events_from(sequence).chain(open)
    }

    /// The completed turns.
    #[must_use]
    pub fn completed_prefix(&self) -> SessionPrefix {
        self.completed.clone()
    }
}

impl fmt::Debug for SessionSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.events()).finish()
    }
}

struct Shared {
    header: SessionHeader,
    log: Mutex<Log>,
}

/// The completed turns, and what came after them.
pub(super) struct Log {
    pub(super) completed: SessionPrefix,
    pub(super) open: Vec<Arc<SessionEvent>>,
    pub(super) grammar: Grammar,
}

impl Log {
    fn new(seed: SessionPrefix) -> Self {
        let grammar = Grammar { unanswered: seed.unanswered().to_vec(), ..Grammar::default() };
        Self { completed: seed, open: Vec::new(), grammar }
    }

    pub(super) fn len(&self) -> u64 {
        self.completed.len() + self.open.len() as u64
    }

    pub(super) fn append(&mut self, kind: SessionEventKind) -> Result<u64, AppendError> {
        self.grammar.accept(&kind)?;
        let sequence = self.len();
        let ends_turn = matches!(kind, SessionEventKind::TurnEnd { .. });
        self.open.push(Arc::new(SessionEvent { sequence, kind }));
        if ends_turn {
            self.completed.push(std::mem::take(&mut self.open), &self.grammar.unanswered);
        }
        Ok(sequence)
    }
}
