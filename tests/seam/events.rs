use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Context;
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Map, Value, json};
use subagent::testing::{Script, ScriptedProvider};
use subagent::{
    ContentBlock, Event, Outcome, Output, Parent, ProviderBlock, ProviderContent, Request, RunState,
    SnapshotError, StopReason, Subscription, Update,
};

use crate::support::{Recorder, Wakes, by_hand, registered, run_id, scripted};

#[tokio::test]
async fn started_is_sent_within_start_and_ended_once_the_run_has_settled() {
    let (provider, mut settlements) = by_hand();
    let (subagents, handle) = registered(provider);
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work")).await.unwrap();
    let Event::Started(started) = &recorder.events()[0] else { panic!("{:?}", recorder.events()) };
    assert_eq!((&*started.run.provider, started.run.run_id), ("child", run.id()));
    assert_eq!(recorder.words(), ["started"]);

    settlements.recv().await.unwrap().settle(Outcome::new(StopReason::MaxTokens));
    let Event::Ended(ended) = &recorder.events()[1] else { panic!("{:?}", recorder.events()) };
    assert_eq!((&*ended.run.provider, ended.run.run_id), ("child", run.id()));
    assert_eq!(ended.stop_reason, StopReason::MaxTokens);
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn both_events_carry_label_parent_and_id() {
    let (subagents, handle, _log) = scripted(ScriptedProvider::replying("done"));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let parent = Parent::new("agent-7", "session-7").with_depth(1);
    let label = "  Größter Käfer/🪲 ";
    let request = Request::new("work").agent_type(label).parent(&parent);
    let run = handle.start(request).await.unwrap();
    let id = run.id();
    run.collect().await.into_result().unwrap();

    let events = recorder.events();
    let (Event::Started(started), Event::Ended(ended)) = (&events[0], &events[1]) else {
        panic!("{events:?}")
    };
    assert_eq!(started.run, ended.run);
    assert_eq!(started.run.agent_type.as_deref(), Some(label));
    assert_eq!(ended.output, Some(Output::text("done")));
    for (event, kind) in events.iter().zip(["started", "ended"]) {
        let json = serde_json::to_value(event).unwrap();
        assert_eq!(json["event"], kind);
        assert_eq!(json["run_id"], id.to_string());
        assert_eq!(json["provider"], "child");
        assert_eq!(json["agent_type"], label);
        assert_eq!(json["parent_agent_id"], "agent-7");
        assert_eq!(json["parent_session_id"], "session-7");
        assert_eq!(json["depth"], 2);
    }
}

#[tokio::test]
async fn what_is_not_there_is_absent_and_not_null() {
    let scripts = [Script::new().complete("done"), Script::new().complete("")];
    let (subagents, handle, _log) = scripted(ScriptedProvider::playing(scripts));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    for _ in 0..2 {
        handle.start(Request::new("work")).await.unwrap().collect().await.into_result().unwrap();
    }
    let json: Vec<_> = recorder.events().iter().map(|event| serde_json::to_value(event).unwrap()).collect();
    // In order or not: that depends on a feature of serde_json that any crate may turn on.
    let keys = |event: &Value| event.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let of_every_event = ["depth", "event", "provider", "run_id"];
    assert_eq!(keys(&json[0]), of_every_event.map(str::to_owned).into(), "{json:?}");
    assert_eq!(json[1]["output"], json!([{"type": "text", "text": "done"}]));
    assert_eq!(
        keys(&json[1]),
        ["depth", "event", "output", "provider", "run_id", "stop_reason"].map(str::to_owned).into()
    );
    assert_eq!(
        keys(&json[3]),
        ["depth", "event", "provider", "run_id", "stop_reason"].map(str::to_owned).into(),
        "no output, no key"
    );
}

#[tokio::test]
async fn a_filter_on_id_parent_or_type_matches_its_own_runs_alone() {
    let (subagents, handle, _log) = scripted(ScriptedProvider::replying("done"));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let mut ids = Vec::new();
    for (agent, kind) in [("a", Some("coder")), ("b", Some("tester")), ("a", None)] {
        let mut request = Request::new("work").parent(&Parent::new(agent, agent));
        if let Some(kind) = kind {
            request = request.agent_type(kind);
        }
        let run = handle.start(request).await.unwrap();
        ids.push(run.id());
        run.collect().await.into_result().unwrap();
    }
    let infos: Vec<_> = recorder
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::Started(started) => Some(started.run),
            Event::Ended(ended) => Some(ended.run),
            _ => None,
        })
        .collect();
    let matching = |matches: &dyn Fn(&subagent::RunInfo) -> bool| -> Vec<_> {
        infos.iter().filter(|info| matches(info)).map(|info| info.run_id).collect()
    };
    assert_eq!(matching(&|info| info.agent_type.as_deref() == Some("tester")), [ids[1]; 2]);
    assert_eq!(matching(&|info| info.agent_type.is_none()), [ids[2]; 2]);
    let of_a = matching(&|info| info.parent_agent_id.as_ref().is_some_and(|id| id.as_str() == "a"));
    assert_eq!(of_a, [ids[0], ids[0], ids[2], ids[2]]);
    assert_eq!(matching(&|info| info.run_id == ids[1]), [ids[1]; 2]);
}

#[tokio::test(start_paused = true)]
async fn every_run_has_one_pair_of_events_however_it_goes() {
    let text = || Script::new().text("so far");
    let ways: [(&str, Script, &str); 10] = [
        ("finished", text().complete("done"), "completed"),
        ("failed", text().settle(Outcome::error("no")), "error"),
        ("refused", text().settle(Outcome::new(StopReason::Refusal)), "refusal"),
        ("out of turns", text().settle(Outcome::new(StopReason::TurnLimit)), "turn_limit"),
        ("a word of its own", text().settle(Outcome::new("stalled".into())), "stalled"),
        ("lost settlement", text().lose_settlement(), "error"),
        ("panicked", text().panic("oh"), "error"),
        ("settled in start", text().complete("done").in_start(), "completed"),
        ("lost in start", text().lose_settlement().in_start(), "error"),
        ("hanging, cancelled", text().hang(), "aborted"),
    ];
    for (way, script, reason) in ways {
        let (subagents, handle, log) = scripted(ScriptedProvider::new(script));
        let (recorder, _subscription) = Recorder::listen_to(&subagents);
        let run = handle.start(Request::new("work")).await.unwrap();
        let id = run.id();
        if way.ends_with("cancelled") {
            run.cancel("enough");
            run.cancel("enough!");
        }
        let collected = run.collect().await;
        assert!(collected.disposal.is_ok());
        assert_eq!(recorder.words(), ["started", &format!("ended: {reason}")], "{way}");
        assert_eq!(recorder.run_ids(), [id, id], "{way}");
        assert_eq!(log.live_children(), 0, "{way}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_nobody_waits_for_has_its_pair_too() {
    let (subagents, handle, log) = scripted(ScriptedProvider::new(Script::new().text("so far")));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    drop(handle.start(Request::new("dropped")).await.unwrap());
    handle.start(Request::new("disposed")).await.unwrap().dispose().await.unwrap();
    let limited = handle.start(Request::new("limited").time_limit(Duration::from_secs(9))).await.unwrap();
    limited.collect().await.into_result().unwrap();
    subagents.shutdown().await;
    let mut words = recorder.words();
    words.sort();
    assert_eq!(
        words,
        ["ended: aborted", "ended: aborted", "ended: time_limit", "started", "started", "started"]
    );
    assert_eq!(log.live_children(), 0);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_for_a_run_after_its_end() {
    let (provider, mut settlements) = by_hand();
    let (subagents, handle) = registered(provider);
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work")).await.unwrap();
    let control = subagents.control(run.id()).unwrap();
    let settlement = settlements.recv().await.unwrap();
    let progress = settlement.progress();
    progress.text("so far");
    run.cancel("stop");
    let settled = run.settle().await;
    assert_eq!(recorder.words(), ["started", "ended: aborted"]);

    // The child comes back, reports and claims success.
    progress.text(" and on");
    settlement.complete("I did it after all");
    control.cancel("again");
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(recorder.words(), ["started", "ended: aborted"]);
    let result = settled.result().unwrap();
    assert_eq!((result.stop_reason(), result.text().as_ref()), (&StopReason::Aborted, "so far"));
    assert_eq!(control.updates().count().await, 1);
    settled.dispose().await.unwrap();
    assert_eq!(recorder.words().len(), 2);
}

#[tokio::test]
async fn ended_reaches_listeners_before_any_waiter_wakes() {
    let (provider, mut settlements) = by_hand();
    let (subagents, handle) = registered(provider);
    let run = Arc::new(handle.start(Request::new("work")).await.unwrap());
    let control = subagents.control(run.id()).unwrap();
    let settlement = settlements.recv().await.unwrap();

    let (woken, waker) = Wakes::new();
    let held = Arc::clone(&run);
    let mut updates = control.updates();
    let watched = control.clone();
    let mut waiting: Vec<Pin<Box<dyn Future<Output = ()> + Send>>> = vec![
        Box::pin(async move { drop(held.result().await) }),
        Box::pin(async move { watched.settled().await }),
        Box::pin(async move { drop(updates.next().await) }),
    ];
    for waiter in &mut waiting {
        assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    }
    let waiting = Arc::new(Mutex::new(waiting));
    let (in_listener, seen) = (Arc::clone(&waiting), Arc::clone(&woken));
    let told = Arc::new(AtomicBool::new(false));
    let telling = Arc::clone(&told);
    let _subscription = subagents.subscribe(move |event| {
        assert!(matches!(event, Event::Ended(_)));
        assert_eq!(control.state(), RunState::Ending);
        assert_eq!(seen.count(), 0, "nobody is woken yet");
        for waiter in in_listener.lock().unwrap().iter_mut() {
            let polled = waiter.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop()));
            assert!(polled.is_pending(), "nor would they find a result");
        }
        telling.store(true, Ordering::SeqCst);
    });
    settlement.complete("done");
    assert!(told.load(Ordering::SeqCst), "the listener's checks held");
    for waiter in waiting.lock().unwrap().iter_mut() {
        assert!(waiter.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }
    waiting.lock().unwrap().clear();
    Arc::try_unwrap(run).unwrap().dispose().await.unwrap();
}

#[tokio::test]
async fn a_settlement_wakes_whoever_waits() {
    let (provider, mut settlements) = by_hand();
    let (subagents, handle) = registered(provider);
    let run = handle.start(Request::new("work")).await.unwrap();
    let control = subagents.control(run.id()).unwrap();
    let (woken, waker) = Wakes::new();
    let mut waiting = Box::pin(control.settled());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    settlements.recv().await.unwrap().complete("done");
    assert_eq!(woken.count(), 1);
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    run.dispose().await.unwrap();
}

/// A block whose fields change, fail and panic as the test says.
#[derive(Clone, Default)]
struct Moody(Arc<AtomicUsize>);

const FAILS: usize = 100;
const PANICS: usize = 101;

impl ProviderContent for Moody {
    fn kind(&self) -> &'static str {
        "acme/moody"
    }

    fn snapshot(&self) -> Result<Map<String, Value>, SnapshotError> {
        match self.0.load(Ordering::SeqCst) {
            FAILS => Err(SnapshotError::new("the file is gone")),
            PANICS => std::panic::panic_any("the file is on fire"),
            mood => Ok(Map::from_iter([("mood".to_owned(), mood.into())])),
        }
    }
}

#[tokio::test]
async fn a_listener_gets_a_snapshot_and_cannot_change_what_the_caller_reads() {
    let moody = Moody::default();
    let block = ContentBlock::Provider(ProviderBlock::new(moody.clone()));
    let (provider, mut settlements) = by_hand();
    let (subagents, handle) = registered(provider);
    let kept = Arc::new(Mutex::new(None));
    let keeps = Arc::clone(&kept);
    let _subscription = subagents.subscribe(move |event| {
        if let Event::Ended(ended) = event {
            // All that a listener can change is a copy of its own.
            let mut copy = ended.clone();
            *keeps.lock().unwrap() = copy.output.replace(Output::text("forged"));
        }
    });
    let run = handle.start(Request::new("work")).await.unwrap();
    settlements.recv().await.unwrap().complete(vec![
        ContentBlock::text("as "),
        block.clone(),
        ContentBlock::text("said"),
    ]);
    moody.0.store(1, Ordering::SeqCst);

    let told = kept.lock().unwrap().take().unwrap();
    let mood = |block: &ContentBlock| serde_json::to_value(block).unwrap()["mood"].clone();
    assert_eq!(mood(&told[1]), 0, "as it was when the run ended");
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.text(), "as said");
    assert_eq!(mood(&result.output()[1]), 1, "the caller has the live block");
    assert_eq!(result.output()[1], block);
}

#[tokio::test]
async fn output_without_provider_blocks_is_shared_and_not_copied() {
    let (subagents, handle, _log) = scripted(ScriptedProvider::replying("done"));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work")).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    let events = recorder.events();
    let Event::Ended(ended) = &events[1] else { panic!("{events:?}") };
    assert!(std::ptr::eq(&raw const ended.output.as_ref().unwrap()[0], &raw const result.output()[0]));
}

#[tokio::test]
async fn output_that_cannot_be_read_costs_ended_its_message_only() {
    for (mood, why) in [(FAILS, "the file is gone"), (PANICS, "the file is on fire")] {
        let warnings = warnings::Warnings::default();
        let guard = tracing::subscriber::set_default(warnings.clone());
        let moody = Moody::default();
        moody.0.store(mood, Ordering::SeqCst);
        let block = ContentBlock::Provider(ProviderBlock::new(moody));
        let (provider, mut settlements) = by_hand();
        let (subagents, handle) = registered(provider);
        let (recorder, _subscription) = Recorder::listen_to(&subagents);
        let run = handle.start(Request::new("work").agent_type("coder")).await.unwrap();
        let outcome =
            Outcome::new(StopReason::MaxTokens).with_output(vec![ContentBlock::text("so far"), block]);
        settlements.recv().await.unwrap().settle(outcome);
        drop(guard);

        let events = recorder.events();
        let Event::Ended(ended) = &events[1] else { panic!("{events:?}") };
        assert_eq!(ended.output, None);
        assert_eq!(ended.stop_reason, StopReason::MaxTokens);
        assert_eq!(ended.run.agent_type.as_deref(), Some("coder"));
        let warned = warnings.texts();
        assert!(warned.iter().any(|text| text.contains(why)), "{warned:?}");
        let result = run.collect().await.into_result().unwrap();
        assert_eq!(result.text(), "so far", "the caller's result is untouched");
        assert_eq!(result.output().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_listener_may_subscribe_and_unsubscribe() {
    let (subagents, handle, _log) = scripted(ScriptedProvider::replying("done"));
    let late = Arc::new(Mutex::new(Vec::new()));
    let own: Arc<Mutex<Option<Subscription>>> = Arc::default();
    let calls = Arc::new(AtomicUsize::new(0));
    let (registry, kept, mine, called) =
        (subagents.clone(), Arc::clone(&late), Arc::clone(&own), Arc::clone(&calls));
    *own.lock().unwrap() = Some(subagents.subscribe(move |_| {
        called.fetch_add(1, Ordering::SeqCst);
        let seen = Recorder::listen_to(&registry);
        kept.lock().unwrap().push(seen);
        // Its own subscription ends while it runs.
        let subscription = mine.lock().unwrap().take();
        drop(subscription);
    }));
    let run = handle.start(Request::new("work")).await.unwrap();
    run.collect().await.into_result().unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1, "told once, then unsubscribed");
    let late: Vec<_> = late.lock().unwrap().drain(..).collect();
    assert_eq!(late.len(), 1);
    assert_eq!(
        late[0].0.words(),
        ["ended: completed"],
        "subscribed within an event, told from the next one on"
    );
}

#[tokio::test(start_paused = true)]
async fn a_listener_may_start_and_cancel_runs() {
    let scripts = [Script::new().text("I listen"), Script::new().complete("audited")];
    let (subagents, handle, log) = scripted(ScriptedProvider::playing(scripts));
    let (recorder, _recording) = Recorder::listen_to(&subagents);
    let registry = subagents.clone();
    let audits = Arc::new(Mutex::new(Vec::new()));
    let started = Arc::clone(&audits);
    let _subscription = subagents.subscribe(move |event| {
        let Event::Started(begun) = event else { return };
        if begun.run.agent_type.as_deref() == Some("audit") {
            return;
        }
        registry.control(begun.run.run_id).unwrap().cancel("not on my watch");
        let start = registry.start("child", Request::new("audit it").agent_type("audit"));
        let audit = tokio::spawn(async move { start.await.unwrap().collect().await.into_result() });
        started.lock().unwrap().push(audit);
    });
    let run = handle.start(Request::new("work")).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Aborted);
    assert_eq!(result.diagnostic(), Some("cancelled: not on my watch"));
    let audits: Vec<_> = audits.lock().unwrap().drain(..).collect();
    assert_eq!(audits.len(), 1);
    for audit in audits {
        assert_eq!(audit.await.unwrap().unwrap().text(), "audited");
    }
    assert_eq!(recorder.events().len(), 4);
    assert_eq!(log.live_children(), 0);
}

#[tokio::test]
async fn an_observer_of_started_reaches_the_live_run() {
    let (provider, mut settlements) = by_hand();
    let (subagents, handle) = registered(provider);
    let registry = subagents.clone();
    let seen = Arc::new(Mutex::new(None));
    let shown = Arc::clone(&seen);
    let _subscription = subagents.subscribe(move |event| {
        if let Event::Started(started) = event {
            let control = registry.control(started.run.run_id).expect("the run is live when it is announced");
            assert_eq!(control.info(), &started.run);
            let listed: Vec<_> = registry.runs().iter().map(subagent::RunControl::id).collect();
            assert_eq!(listed, [started.run.run_id]);
            *shown.lock().unwrap() = Some((control.state(), control.updates(), control));
        }
    });
    let run = handle.start(Request::new("work")).await.unwrap();
    let (state, mut updates, control) = seen.lock().unwrap().take().unwrap();
    assert_eq!(state, RunState::Live);
    let settlement = settlements.recv().await.unwrap();
    settlement.progress().text("hello");
    assert_eq!(*updates.next().await.unwrap().unwrap(), Update::text("hello"));
    assert!(control.last_activity().is_some());
    settlement.complete("done");
    assert_eq!(control.state(), RunState::Settled);
    assert!(updates.next().await.is_none());
    control.settled().await;
    assert!(subagents.runs().is_empty());
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn a_dropped_subscription_ends_it() {
    let (subagents, handle, _log) = scripted(ScriptedProvider::replying("done"));
    let (recorder, subscription) = Recorder::listen_to(&subagents);
    let (other, _other) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work")).await.unwrap();
    drop(subscription);
    run.collect().await.into_result().unwrap();
    assert_eq!(recorder.words(), ["started"]);
    assert_eq!(other.words().len(), 2);
    let (after, subscription) = Recorder::listen_to(&subagents);
    drop(subagents);
    drop((subscription, handle));
    assert!(after.words().is_empty());
}

#[tokio::test]
async fn listeners_are_told_in_the_order_of_subscription() {
    let (subagents, handle, _log) = scripted(ScriptedProvider::replying("done"));
    let order = Arc::new(Mutex::new(Vec::new()));
    let subscriptions: Vec<_> = (0..3)
        .map(|n| {
            let order = Arc::clone(&order);
            subagents.subscribe(move |event| order.lock().unwrap().push((n, run_id(event).is_some())))
        })
        .collect();
    let run = handle.start(Request::new("work")).await.unwrap();
    run.collect().await.into_result().unwrap();
    assert_eq!(order.lock().unwrap().iter().map(|(n, _)| *n).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2]);
    drop(subscriptions);
}

mod warnings {
    use std::fmt::{Debug, Write};
    use std::sync::{Arc, Mutex};

    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Level, Metadata, Subscriber};

    /// Keeps the text of every warning of this thread.
    #[derive(Clone, Default)]
    pub(super) struct Warnings(Arc<Mutex<Vec<String>>>);

    impl Warnings {
        pub(super) fn texts(&self) -> Vec<String> {
            self.0.lock().unwrap().clone()
        }
    }

    struct Fields(String);

    impl Visit for Fields {
        fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
            write!(self.0, "{field}={value:?} ").unwrap();
        }
    }

    impl Subscriber for Warnings {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            *metadata.level() == Level::WARN
        }

        fn new_span(&self, _span: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _span: &Id, _values: &Record<'_>) {}

        fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

        fn event(&self, event: &Event<'_>) {
            let mut fields = Fields(String::new());
            event.record(&mut fields);
            self.0.lock().unwrap().push(fields.0);
        }

        fn enter(&self, _span: &Id) {}

        fn exit(&self, _span: &Id) {}
    }
}
