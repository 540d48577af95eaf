use std::panic::panic_any;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use subagent::testing::{Script, ScriptedProvider};
use subagent::{
    ContentKind, ContentKinds, Event, Outcome, Provider, Request, Settlement, StartError, StartRequest,
    StopReason, Subagents, Subscription,
};

use crate::support::{Recorder, StartsWith, TestRun, registered, scripted};

/// A panic's payload that is no text and panics when it is dropped, again and again.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any(Self);
    }
}

/// Subscribes a listener that panics in every event that `when` picks.
fn panicking(subagents: &Subagents, when: fn(&Event) -> bool) -> Subscription {
    subagents.subscribe(move |event| {
        assert!(!when(event), "a listener fell over");
    })
}

fn exploding(subagents: &Subagents, when: fn(&Event) -> bool) -> Subscription {
    subagents.subscribe(move |event| {
        if when(event) {
            panic_any(Bomb);
        }
    })
}

fn is_started(event: &Event) -> bool {
    matches!(event, Event::Started(_))
}

fn is_ended(event: &Event) -> bool {
    matches!(event, Event::Ended(_))
}

#[tokio::test]
async fn a_started_listener_that_panics_costs_nobody_anything() {
    let (subagents, handle, log) = scripted(ScriptedProvider::replying("done"));
    let _first = panicking(&subagents, is_started);
    let (recorder, _second) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work")).await.unwrap();
    assert_eq!(recorder.words(), ["started"]);
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    assert_eq!(recorder.words(), ["started", "ended: completed"]);
    assert_eq!((log.live_children(), log.disposals()), (0, 1));
}

#[tokio::test]
async fn an_ended_listener_that_panics_starves_no_other() {
    let (subagents, handle, _log) = scripted(ScriptedProvider::replying("done"));
    let _first = panicking(&subagents, is_ended);
    let (recorder, _second) = Recorder::listen_to(&subagents);
    let _third = panicking(&subagents, |_| true);
    let (last, _last) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work")).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    assert_eq!(recorder.words(), ["started", "ended: completed"]);
    assert_eq!(last.words(), ["started", "ended: completed"]);
}

#[tokio::test]
async fn a_panicking_observer_of_a_failure_does_not_turn_the_result_into_a_fault() {
    let scripts =
        [Script::new().settle(Outcome::error("the model is gone")), Script::new().lose_settlement()];
    let (subagents, handle, _log) = scripted(ScriptedProvider::playing(scripts));
    let _observer = exploding(
        &subagents,
        |event| matches!(event, Event::Ended(ended) if ended.stop_reason == StopReason::Error),
    );
    let result = handle.start(Request::new("work")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Error);
    assert_eq!(result.diagnostic(), Some("the model is gone"));
    let fault = handle.start(Request::new("work")).await.unwrap().collect().await.into_result().unwrap_err();
    assert_eq!(fault.code(), "SETTLEMENT_LOST", "nor hides it a fault");
}

#[tokio::test]
async fn a_panic_that_cannot_be_printed_or_dropped_escapes_from_nowhere() {
    let (subagents, handle, log) = scripted(ScriptedProvider::replying("done"));
    let _first = exploding(&subagents, |_| true);
    let (recorder, _second) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work")).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    assert_eq!(recorder.words(), ["started", "ended: completed"]);
    assert_eq!(log.live_children(), 0);
    drop(subagents.register("other", ScriptedProvider::replying("done")).unwrap());
    assert_eq!(recorder.words()[2..], ["added: other", "removed: other"]);

    let (subagents, handle) = registered(StartsWith(|_: StartRequest, settlement: Settlement| async move {
        let _held = settlement;
        if true {
            panic_any(Bomb);
        }
        Ok(TestRun::default())
    }));
    let (recorder, _recording) = Recorder::listen_to(&subagents);
    let error = handle.start(Request::new("work")).await.unwrap_err();
    assert_eq!(error.code(), "START_PANICKED");
    assert!(error.to_string().ends_with("a value that is not text was thrown"), "{error}");
    assert!(recorder.words().is_empty());
}

#[tokio::test]
async fn what_a_listener_holds_may_panic_when_it_is_dropped() {
    let (subagents, handle, _log) = scripted(ScriptedProvider::replying("done"));
    let own: Arc<Mutex<Option<Subscription>>> = Arc::default();
    let (mine, bomb) = (Arc::clone(&own), Arc::new(Mutex::new(Some(Bomb))));
    let held = Arc::clone(&bomb);
    *own.lock().unwrap() = Some(subagents.subscribe(move |event| {
        let _holds = &held;
        if is_ended(event) {
            // The last one to hold the listener is now the one who tells it.
            drop(mine.lock().unwrap().take());
        }
    }));
    drop(bomb);
    let (recorder, _recording) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work")).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    assert_eq!(recorder.words(), ["started", "ended: completed"]);
}

#[tokio::test]
async fn a_listener_of_a_registration_that_panics_does_not_stop_it() {
    let subagents = Subagents::new();
    let _added = panicking(&subagents, |event| matches!(event, Event::ProviderAdded { .. }));
    let (recorder, _recording) = Recorder::listen_to(&subagents);
    let registration = subagents.register("child", ScriptedProvider::replying("done")).unwrap();
    assert_eq!(subagents.list().len(), 1);
    let run = registration.start(Request::new("work")).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    drop(registration);
    assert_eq!(recorder.words(), ["added: child", "started", "ended: completed", "removed: child"]);
}

#[test]
fn a_listener_of_a_removal_that_panics_does_not_stop_it() {
    let subagents = Subagents::new();
    let registration = subagents.register("child", ScriptedProvider::replying("done")).unwrap();
    let _removed = panicking(&subagents, |event| matches!(event, Event::ProviderRemoved { .. }));
    let (recorder, _recording) = Recorder::listen_to(&subagents);
    drop(registration);
    assert!(subagents.list().is_empty());
    assert_eq!(recorder.words(), ["removed: child"]);
    drop(subagents.register("child", ScriptedProvider::replying("done")).unwrap());
}

#[tokio::test]
async fn a_provider_that_panics_in_its_start_is_a_start_error() {
    let scripts = [
        Script::new().text("half").panic("no such device").in_start(),
        Script::new().complete("done").in_start().panic("too late").in_start(),
    ];
    let (subagents, handle, log) = scripted(ScriptedProvider::playing(scripts));
    let (recorder, _recording) = Recorder::listen_to(&subagents);
    for message in ["no such device", "too late"] {
        let start = handle.start(Request::new("work"));
        let id = start.run_id().unwrap();
        let error = start.await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("provider `child` panicked while it started run {id}: {message}")
        );
    }
    assert!(recorder.words().is_empty());
    assert!(subagents.runs().is_empty());
    assert_eq!(log.live_children(), 0);
}

/// Panics before it has a future of its start.
struct NoFuture;

subagent::supports!(NoFuture:);

impl Provider for NoFuture {
    type Run = TestRun;

    fn start(
        &self,
        _request: StartRequest,
        _settlement: Settlement,
    ) -> impl Future<Output = Result<TestRun, StartError>> + Send {
        assert!(std::hint::black_box(false), "not even a future");
        async { Ok(TestRun::default()) }
    }

    fn content(&self) -> ContentKinds {
        panic_any(Bomb)
    }
}

#[tokio::test]
async fn a_provider_that_panics_when_it_is_asked_anything_is_contained() {
    let (subagents, handle) = registered(NoFuture);
    let carried = subagents.get("child").unwrap().content();
    assert!(carried.contains(ContentKind::Text) && carried == ContentKinds::TEXT, "text is assumed");
    let error = handle.start(Request::new("work")).await.unwrap_err();
    assert_eq!(error.code(), "START_PANICKED");
    assert!(error.to_string().ends_with("not even a future"), "{error}");
}

#[tokio::test]
async fn a_child_that_panics_is_a_result_with_what_it_said() {
    let (subagents, handle, log) = scripted(ScriptedProvider::new(Script::new().text("so far").panic("oh")));
    let (recorder, _recording) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work")).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Error);
    assert_eq!(result.text(), "so far");
    assert!(result.diagnostic().unwrap().contains("panicked"), "{:?}", result.diagnostic());
    assert_eq!(recorder.words(), ["started", "ended: error"]);
    assert_eq!(log.live_children(), 0);
}

#[tokio::test]
async fn a_disposal_that_panics_hides_no_result() {
    for script in [
        Script::new().complete("done").panic_in_dispose("oh"),
        Script::new().complete("done").fail_dispose("a file is left"),
    ] {
        let (_subagents, handle, _log) = scripted(ScriptedProvider::new(script));
        let collected = handle.start(Request::new("work")).await.unwrap().collect().await;
        assert_eq!(collected.result.unwrap().text(), "done");
        let error = collected.disposal.unwrap_err();
        assert!(["DISPOSE_PANICKED", "DISPOSE_FAILED"].contains(&error.code()), "{error}");
    }
}

#[tokio::test]
async fn a_wrapper_that_panics_over_an_outcome_is_a_result() {
    let (_subagents, handle) = registered(StartsWith(|_: StartRequest, settlement: Settlement| async move {
        settlement.map(|_| panic_any(Bomb)).complete("done");
        Ok(TestRun::default())
    }));
    let result = handle.start(Request::new("work")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Error);
    assert!(result.diagnostic().unwrap().contains("a wrapper panicked"), "{:?}", result.diagnostic());
}

#[tokio::test(start_paused = true)]
async fn a_disposer_that_calls_back_into_its_own_run_runs_once_and_ends() {
    let disposed = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&disposed);
    let subagents = Subagents::new();
    let registry = subagents.clone();
    let provider = StartsWith(move |request: StartRequest, settlement: Settlement| {
        let (registry, counted, id) = (registry.clone(), Arc::clone(&counted), request.run_id());
        let cancellation = settlement.cancellation();
        let run = TestRun::disposed_by(move || async move {
            counted.fetch_add(1, Ordering::SeqCst);
            // Held until here: only the seam's own settlement after the grace can end the run.
            let _held = settlement;
            if let Some(control) = registry.control(id) {
                control.cancel("from within");
                control.settled().await;
            }
            cancellation.cancelled().await;
            registry.unregister("child");
            Ok(())
        });
        async move { Ok(run) }
    });
    let registration = subagents.register("child", provider).unwrap();
    let (recorder, _recording) = Recorder::listen_to(&subagents);
    let run = registration.start(Request::new("work")).await.unwrap();
    run.dispose().await.unwrap();
    assert_eq!(disposed.load(Ordering::SeqCst), 1);
    assert_eq!(recorder.words(), ["started", "ended: aborted", "removed: child"]);
    drop(registration);
    subagents.shutdown().await;
    assert_eq!(disposed.load(Ordering::SeqCst), 1);
}
