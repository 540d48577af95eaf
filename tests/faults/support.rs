//! What the tests share.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex};

use subagent::{Event, RunId, Subagents, Subscription};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};

/// All events of a `Subagents`, as long as this lives.
pub(crate) struct Events {
    told: Arc<Mutex<Vec<Event>>>,
    _subscription: Subscription,
}

impl Events {
    pub(crate) fn of(subagents: &Subagents) -> Self {
        let told = Arc::<Mutex<Vec<Event>>>::default();
        let sink = Arc::clone(&told);
        let subscription = subagents.subscribe(move |event| sink.lock().unwrap().push(event.clone()));
        Self { told, _subscription: subscription }
    }

    /// Each run has one `Started` and one `Ended`, in this order.
    pub(crate) fn are_paired(&self, what: &str) {
        let mut ended = HashMap::<RunId, bool>::new();
        for event in self.told.lock().unwrap().iter() {
            match event {
                Event::Started(started) => {
                    assert_eq!(ended.insert(started.run.run_id, false), None, "{what}");
                }
                Event::Ended(ending) => {
                    assert_eq!(ended.insert(ending.run.run_id, true), Some(false), "{what}");
                }
                _ => {}
            }
        }
        assert!(ended.values().all(|ended| *ended), "{what}: a run started and did not end");
    }
}

/// A log that writes out every line with every field, down to the causes of errors.
#[derive(Clone, Default)]
pub(crate) struct Printing {
    pub(crate) lines: Arc<Mutex<Vec<String>>>,
}

impl tracing::Subscriber for Printing {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        // What programs log unless they are told otherwise.
        *metadata.level() <= tracing::Level::INFO
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line(span.metadata().name().to_owned());
        span.record(&mut line);
        self.lines.lock().unwrap().push(line.0);
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, values: &Record<'_>) {
        let mut line = Line(String::new());
        values.record(&mut line);
        self.lines.lock().unwrap().push(line.0);
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.lines.lock().unwrap().push(line.0);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }

    fn record_error(&mut self, field: &Field, error: &(dyn std::error::Error + 'static)) {
        write!(self.0, " {field}={error}").unwrap();
        let mut cause = error.source();
        while let Some(error) = cause {
            write!(self.0, ": {error}").unwrap();
            cause = error.source();
        }
    }
}
