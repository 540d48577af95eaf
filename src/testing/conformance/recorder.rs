use std::sync::{Arc, Mutex};

use super::violation::{Checked, broken};
use crate::error::listed;
use crate::event::{Event, RunEnded, RunInfo};
use crate::id::RunId;
use crate::sync::lock;

/// The events of runs, as a listener saw them.
#[derive(Clone, Default)]
pub(super) struct Recorder(Arc<Mutex<Vec<Event>>>);

impl Recorder {
    pub(super) fn record(&self, event: &Event) {
        if run_of(event).is_some() {
            lock(&self.0).push(event.clone());
        }
    }

    pub(super) fn count(&self) -> usize {
        lock(&self.0).len()
    }

    pub(super) fn started(&self, id: RunId) -> Option<RunInfo> {
        self.of(id).into_iter().find_map(|event| match event {
            Event::Started(started) => Some(started.run),
            _ => None,
        })
    }

    pub(super) fn ended(&self, id: RunId) -> Option<RunEnded> {
        self.of(id).into_iter().find_map(|event| match event {
            Event::Ended(ended) => Some(ended),
            _ => None,
        })
    }

    /// The run's `Ended`, if its events are one `Started` and one `Ended` in this order.
    pub(super) fn pair(&self, id: RunId) -> Checked<RunEnded> {
        let events = self.of(id);
        if let [Event::Started(_), Event::Ended(ended)] = events.as_slice() {
            return Ok(ended.clone());
        }
        let names: Vec<_> = events.iter().map(name).collect();
        Err(broken(
            format!("the events of the run were: {}", listed(&names)),
            "one `Started` and then one `Ended` for every run, whatever becomes of it",
        ))
    }

    /// Checks that every run that was published has ended.
    pub(super) fn all_pairs(&self) -> Checked {
        let ids: Vec<RunId> =
            lock(&self.0).iter().filter_map(|event| run_of(event).map(|run| run.run_id)).collect();
        ids.into_iter().try_for_each(|id| self.pair(id).map(drop))
    }

    fn of(&self, id: RunId) -> Vec<Event> {
        lock(&self.0)
            .iter()
            .filter(|event| run_of(event).is_some_and(|run| run.run_id == id))
            .cloned()
            .collect()
    }
}

fn run_of(event: &Event) -> Option<&RunInfo> {
    match event {
        Event::Started(started) => Some(&started.run),
        Event::Ended(ended) => Some(&ended.run),
        _ => None,
    }
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::Started(_) => "Started",
        Event::Ended(_) => "Ended",
        _ => "another",
    }
}
