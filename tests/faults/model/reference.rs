//! What the seam promises, said as plainly as it can be: no tasks, no locks, no futures.

use std::collections::VecDeque;
use std::time::Duration;

use subagent::StopReason;

use super::by_hand::{Begin, End, SLOW};

pub(crate) const GRACE: Duration = Duration::from_millis(2_003);

#[derive(Default)]
pub(crate) struct Reference {
    pub(crate) now: Duration,
    pub(crate) closed: bool,
    /// Every registration that there was: its name, and whether it takes starts.
    pub(crate) entries: Vec<(&'static str, bool)>,
    /// The registered names, with the number of their entry.
    pub(crate) listed: Vec<(&'static str, usize)>,
    pub(crate) runs: Vec<RunState>,
    pub(crate) events: Vec<String>,
    pub(crate) disposed: usize,
    /// Children whose disposal ends then.
    leaving: Vec<Duration>,
}

pub(crate) struct RunState {
    pub(crate) id: u8,
    pub(crate) end: End,
    /// The cause's words, and when the seam settles in the child's place.
    cancelled: Option<(String, Duration)>,
    said: String,
    pub(crate) inbox: VecDeque<String>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) held: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    Result { reason: StopReason, text: String, diagnostic: Option<String>, undelivered: Vec<String> },
    Fault(&'static str),
}

impl Reference {
    pub(crate) fn register(&mut self, name: &'static str) -> Result<usize, &'static str> {
        if self.closed {
            return Err("SHUT_DOWN");
        }
        if self.listed.iter().any(|(listed, _)| *listed == name) {
            return Err("DUPLICATE_PROVIDER");
        }
        self.entries.push((name, true));
        self.listed.push((name, self.entries.len() - 1));
        self.events.push(format!("added {name}"));
        Ok(self.entries.len() - 1)
    }

    pub(crate) fn unregister(&mut self, name: &str) -> bool {
        let entry = self.listed.iter().find(|(listed, _)| *listed == name).map(|(_, entry)| *entry);
        entry.is_some_and(|entry| self.close(entry))
    }

    pub(crate) fn close(&mut self, entry: usize) -> bool {
        self.entries[entry].1 = false;
        let Some(at) = self.listed.iter().position(|(_, listed)| *listed == entry) else { return false };
        let (name, _) = self.listed.remove(at);
        self.events.push(format!("removed {name}"));
        true
    }

    /// What refuses a start before its provider is asked.
    pub(crate) fn refusal(
        &self,
        entry: usize,
        id: u8,
        unsupported: bool,
        starting: &[u8],
    ) -> Option<&'static str> {
        let taken = self.live().any(|run| run.id == id) || starting.contains(&id);
        match () {
            () if self.closed => Some("SHUT_DOWN"),
            () if !self.entries[entry].1 => Some("UNREGISTERED"),
            () if unsupported => Some("UNSUPPORTED_CAPABILITY"),
            () if taken => Some("DUPLICATE_RUN"),
            () => None,
        }
    }

    /// A child came to be and is published; what it did before counts from then on.
    pub(crate) fn publish(&mut self, id: u8, begin: &Begin, end: End) -> usize {
        self.runs.push(RunState {
            id,
            end,
            cancelled: None,
            said: String::new(),
            inbox: VecDeque::new(),
            verdict: None,
            held: true,
        });
        self.events.push(format!("started {id}"));
        let run = self.runs.len() - 1;
        match begin {
            Begin::Settle(outcome) => {
                let text = outcome.output.to_text();
                self.settle(run, outcome.stop_reason.clone(), &text, outcome.diagnostic.clone());
            }
            Begin::Lose => self.fault(run),
            _ => {}
        }
        run
    }

    /// A child that exists but is refused.
    pub(crate) fn turn_away(&mut self, end: End) {
        self.leave(end);
    }

    pub(crate) fn say(&mut self, run: usize, text: &str) {
        let run = &mut self.runs[run];
        if run.verdict.is_none() {
            run.said.push_str(text);
        }
    }

    pub(crate) fn steer(&mut self, run: usize, text: &str) -> Result<(), &'static str> {
        let run = &mut self.runs[run];
        if run.verdict.is_some() || run.cancelled.is_some() {
            return Err("SETTLED");
        }
        run.inbox.push_back(text.to_owned());
        Ok(())
    }

    pub(crate) fn cancel(&mut self, run: usize, cause: &str) {
        let deadline = self.now + GRACE;
        let run = &mut self.runs[run];
        if run.verdict.is_none() {
            run.cancelled.get_or_insert_with(|| (cause.to_owned(), deadline));
        }
    }

    pub(crate) fn settle(&mut self, run: usize, reason: StopReason, text: &str, diagnostic: Option<String>) {
        let state = &mut self.runs[run];
        if state.verdict.is_some() {
            return;
        }
        let cause =
            state.cancelled.as_ref().map(|(cause, _)| cause).filter(|_| reason != StopReason::Completed);
        let reason = if cause.is_some() { StopReason::Aborted } else { reason };
        let text = if text.is_empty() { state.said.clone() } else { text.to_owned() };
        let diagnostic = diagnostic.or(cause.cloned());
        let undelivered = state.inbox.drain(..).collect();
        self.events.push(format!("ended {} {reason} {text:?}", state.id));
        state.verdict = Some(Verdict::Result { reason, text, diagnostic, undelivered });
    }

    /// The child's settlement was lost.
    pub(crate) fn fault(&mut self, run: usize) {
        let state = &mut self.runs[run];
        if state.cancelled.is_some() {
            return self.settle(run, StopReason::Aborted, "", None);
        }
        if state.verdict.is_none() {
            state.inbox.clear();
            self.events.push(format!("ended {} error \"\"", state.id));
            state.verdict = Some(Verdict::Fault("SETTLEMENT_LOST"));
        }
    }

    /// The handle is disposed of or dropped.
    pub(crate) fn give_up(&mut self, run: usize, cause: &str) {
        self.cancel(run, cause);
        self.runs[run].held = false;
        let end = self.runs[run].end;
        self.leave(end);
        if end == End::Slow {
            // The seam settles when the disposal is over, or the grace.
            let over = self.now + SLOW;
            if let Some((_, deadline)) = &mut self.runs[run].cancelled {
                *deadline = over.min(*deadline);
            }
        } else {
            self.settle(run, StopReason::Aborted, "", None);
        }
    }

    /// The handle became that of a follow-up.
    pub(crate) fn hand_over(&mut self, run: usize) {
        self.runs[run].held = false;
    }

    pub(crate) fn shut_down(&mut self) {
        self.closed = true;
        for run in 0..self.runs.len() {
            self.cancel(run, "the subagents are shutting down");
        }
    }

    pub(crate) fn time_is(&mut self, now: Duration) {
        self.now = now;
        for run in 0..self.runs.len() {
            let due = self.runs[run].cancelled.as_ref().is_some_and(|(_, deadline)| *deadline <= now);
            if due {
                self.settle(run, StopReason::Aborted, "", None);
            }
        }
        let still = self.leaving.iter().copied().filter(|over| *over > now).collect::<Vec<_>>();
        self.disposed += self.leaving.len() - still.len();
        self.leaving = still;
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &RunState> {
        self.runs.iter().filter(|run| run.verdict.is_none())
    }

    /// How many children of published and turned-away runs exist.
    pub(crate) fn living(&self) -> usize {
        self.runs.iter().filter(|run| run.held).count() + self.leaving.len()
    }

    /// Whether a child is being disposed of.
    pub(crate) fn is_cleaning_up(&self) -> bool {
        !self.leaving.is_empty()
    }

    fn leave(&mut self, end: End) {
        if end == End::Slow {
            self.leaving.push(self.now + SLOW);
        } else {
            self.disposed += 1;
        }
    }
}
