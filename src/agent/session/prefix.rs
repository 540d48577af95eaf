use std::fmt;
use std::sync::Arc;

use super::SessionEvent;

/// The completed turns of a session: everything up to and including its last turn end.
///
/// It is immutable and shared. Taking it, cloning it and beginning another session with it cost the same
/// whatever its length, and copy no event.
#[derive(Clone, Default)]
pub struct SessionPrefix {
    last: Option<Arc<Segment>>,
}

impl SessionPrefix {
    /// How many events it holds.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.last.as_ref().map_or(0, |segment| segment.end)
    }

    /// Whether no turn is complete.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// How many turns it holds.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.last.as_ref().map_or(0, |segment| segment.turns)
    }

    /// The events, from the first.
    pub fn events(&self) -> impl Iterator<Item = &SessionEvent> {
        self.events_from(0)
    }

    /// The events from `sequence` on. Only the turns that hold them are visited.
    pub(super) fn events_from(&self, sequence: u64) -> impl Iterator<Item = &SessionEvent> {
        let mut segments = Vec::new();
        let mut next = self.last.as_deref();
        while let Some(segment) = next.filter(|segment| segment.end > sequence) {
            segments.push(segment);
            next = segment.previous.as_deref();
        }
        segments
            .into_iter()
            .rev()
            .flat_map(|segment| segment.events.iter().map(AsRef::as_ref))
            .skip_while(move |event| event.sequence < sequence)
    }

    /// The ids of the calls that the last turn left without a result.
    pub(super) fn unanswered(&self) -> &[String] {
        self.last.as_ref().map_or(&[], |segment| &segment.unanswered)
    }

    /// Adds a completed turn, with what came between it and the turn before.
    pub(super) fn push(&mut self, events: Vec<Arc<SessionEvent>>, unanswered: &[String]) {
        let end = self.len() + events.len() as u64;
        let turns = self.turns() + 1;
        let previous = self.last.take();
        self.last = Some(Arc::new(Segment {
            previous,
            events: events.into(),
            end,
            turns,
            unanswered: unanswered.into(),
        }));
    }
}

impl fmt::Debug for SessionPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionPrefix").field("turns", &self.turns()).field("len", &self.len()).finish()
    }
}

/// One completed turn, linked to those before it.
struct Segment {
    previous: Option<Arc<Self>>,
    events: Box<[Arc<SessionEvent>]>,
    end: u64,
    turns: u64,
    unanswered: Box<[String]>,
}

/// Unlinks the chain in a loop: dropping it link by link would recurse as deep as the session is long.
impl Drop for Segment {
    fn drop(&mut self) {
        let mut next = self.previous.take();
        while let Some(mut segment) = next.and_then(Arc::into_inner) {
            next = segment.previous.take();
        }
    }
}
