use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use subagent::wrap::Traced;
use subagent::{ModelUsage, Outcome, Request, Subagents, Usage};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Metadata, Subscriber};

use crate::stage::{Act, Stage, collected, registered, secs};

#[tokio::test(start_paused = true)]
async fn a_span_tells_which_run_it_was_and_how_it_ended() {
    let (spans, _guard) = Spans::installed();
    let mut usage = Usage::default();
    usage.add(&ModelUsage::new("m", 7, 3));
    let stage = Stage::new([Act::ends(Outcome::error("the disk is full").with_usage(usage))]);
    let handle = registered(&Subagents::new(), Traced::new(stage));
    let run = handle.start(Request::new("secret prompt").agent_type("reader")).await.unwrap();
    let id = run.id().to_string();
    assert_eq!(spans.closed(), 0);
    collected(run).await;
    let [span] = &spans.all()[..] else { panic!("one span") };
    let expected = [
        ("agent_type", "reader"),
        ("depth", "1"),
        ("diagnostic", "the disk is full"),
        ("input_tokens", "7"),
        ("output_tokens", "3"),
        ("provider", "wrapped"),
        ("run_id", &id),
        ("stop_reason", "error"),
    ];
    let seen: Vec<_> = span.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(seen, expected);
    assert_eq!(spans.closed(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failed_start_a_follow_up_and_an_end_that_was_forced_are_told_too() {
    let (spans, _guard) = Spans::installed();
    let stage = Stage::new([Act::does_not_start(), Act::completes("done"), Act::hangs()]);
    let handle = registered(&Subagents::new(), Traced::new(stage));

    handle.start(Request::new("go")).await.unwrap_err();
    assert!(spans.all()[0]["error"].contains("could not start"), "{:?}", spans.all());

    let settled = handle.start(Request::new("go")).await.unwrap().settle().await;
    let first = settled.id().to_string();
    collected(settled.resume("more").await.unwrap()).await;
    assert_eq!(spans.all()[1]["stop_reason"], "completed");
    assert_eq!(spans.all()[2]["resumed_from"], first);
    assert_eq!(spans.all()[2]["stop_reason"], "completed");

    let run = handle.start(Request::new("go").time_limit(secs(1))).await.unwrap();
    collected(run).await;
    assert_eq!(spans.all()[3]["stop_reason"], "time_limit");
    assert_eq!(spans.closed(), 4);
}

/// Keeps the fields of all spans of this crate's runs.
#[derive(Clone, Default)]
struct Spans(Arc<Kept>);

#[derive(Default)]
struct Kept {
    fields: Mutex<BTreeMap<u64, BTreeMap<&'static str, String>>>,
    handles: Mutex<BTreeMap<u64, usize>>,
    next: AtomicU64,
}

impl Spans {
    fn installed() -> (Self, DefaultGuard) {
        let spans = Self::default();
        let guard = tracing::subscriber::set_default(spans.clone());
        (spans, guard)
    }

    fn all(&self) -> Vec<BTreeMap<&'static str, String>> {
        self.0.fields.lock().unwrap().values().cloned().collect()
    }

    fn closed(&self) -> usize {
        self.0.handles.lock().unwrap().values().filter(|handles| **handles == 0).count()
    }
}

impl Subscriber for Spans {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.name() == "subagent.run"
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.0.next.fetch_add(1, Ordering::SeqCst) + 1;
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        self.0.fields.lock().unwrap().insert(id, fields.0);
        self.0.handles.lock().unwrap().insert(id, 1);
        Id::from_u64(id)
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        let mut all = self.0.fields.lock().unwrap();
        for (name, value) in fields.0 {
            let earlier = all.get_mut(&span.into_u64()).unwrap().insert(name, value);
            assert_eq!(earlier, None, "`{name}` is recorded once");
        }
    }

    fn clone_span(&self, id: &Id) -> Id {
        *self.0.handles.lock().unwrap().get_mut(&id.into_u64()).unwrap() += 1;
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut all = self.0.handles.lock().unwrap();
        let handles = all.get_mut(&id.into_u64()).unwrap();
        *handles -= 1;
        *handles == 0
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn event(&self, _event: &Event<'_>) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}
