use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use subagent::testing::{Script, ScriptedProvider};
use subagent::{Outcome, Request, RunId, Subagents};
use tokio::sync::Notify;

use crate::support::{Recorder, by_hand, registered, scripted};

#[tokio::test]
async fn the_same_request_started_twice_makes_two_runs() {
    let (subagents, handle, _log) = scripted(ScriptedProvider::replying("done"));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let request = Request::new("work").agent_type("coder");
    let one = handle.start(request.clone()).await.unwrap();
    let other = handle.start(request).await.unwrap();
    assert_ne!(one.id(), other.id());
    one.collect().await.into_result().unwrap();
    other.collect().await.into_result().unwrap();
    let ids: HashSet<_> = recorder.run_ids().into_iter().collect();
    assert_eq!((recorder.run_ids().len(), ids.len()), (4, 2));
}

#[tokio::test]
async fn ids_are_long_unique_and_the_parents_own() {
    // Two registries stand for two hosts; the children of both would number themselves from 1.
    let mut ids = HashSet::new();
    for _ in 0..2 {
        let (_subagents, handle, log) = scripted(ScriptedProvider::replying("done"));
        for _ in 0..100 {
            let start = handle.start(Request::new("work"));
            let minted = start.run_id().expect("known before the provider is called");
            let run = start.await.unwrap();
            assert_eq!(run.id(), minted);
            assert!(ids.insert(minted));
            run.dispose().await.unwrap();
        }
        assert!(log.requests().iter().all(|seen| ids.contains(&seen.run_id)));
    }
    for id in &ids {
        let text = id.to_string();
        assert_eq!((text.len(), id.as_bytes()[6] >> 4), (36, 7), "{text}");
        assert_eq!(text.parse::<RunId>().unwrap(), *id);
        assert!(
            text[..35].parse::<RunId>().is_err() && text[..8].parse::<RunId>().is_err(),
            "a prefix is no id"
        );
    }
}

#[tokio::test]
async fn a_chosen_id_is_the_runs_id_everywhere() {
    let (subagents, handle, log) = scripted(ScriptedProvider::replying("done"));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let id = RunId::from_bytes([7; 16]);
    let start = handle.start(Request::new("work").run_id(id));
    assert_eq!(start.run_id(), Some(id));
    let run = start.await.unwrap();
    assert_eq!(run.id(), id);
    assert_eq!(log.requests()[0].run_id, id);
    run.collect().await.into_result().unwrap();
    assert_eq!(recorder.run_ids(), [id, id]);
}

#[tokio::test(start_paused = true)]
async fn an_id_of_a_live_or_starting_run_is_refused() {
    let ready = Arc::new(Notify::new());
    let script = Script::new().wait_for(&ready).in_start();
    let (subagents, handle, log) = scripted(ScriptedProvider::new(script));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let id = RunId::new();
    let starting = tokio::spawn(handle.start(Request::new("first").run_id(id)));
    while log.live_children() == 0 {
        tokio::task::yield_now().await;
    }
    let second = handle.start(Request::new("second").run_id(id));
    let second = tokio::time::timeout(Duration::from_mins(1), second).await;
    let error = second.expect("refused without a wait").unwrap_err();
    assert_eq!((error.code(), error.run_id()), ("DUPLICATE_RUN", Some(id)));
    ready.notify_one();
    let first = starting.await.unwrap().unwrap();
    let error = subagents.start("child", Request::new("third").run_id(id)).await.unwrap_err();
    assert_eq!((error.code(), error.run_id()), ("DUPLICATE_RUN", Some(id)));
    assert!(error.to_string().contains(&id.to_string()), "{error}");

    assert_eq!(log.requests().len(), 1);
    assert!(!first.cancellation().is_cancelled(), "the first is left alone");
    assert_eq!(subagents.runs().len(), 1);
    first.dispose().await.unwrap();
    assert_eq!(recorder.run_ids(), [id, id]);
}

#[tokio::test]
async fn an_id_whose_start_failed_can_be_chosen_again() {
    let scripts = [Script::new().fail_start("busy"), Script::new().complete("done")];
    let (_subagents, handle, _log) = scripted(ScriptedProvider::playing(scripts));
    let request = Request::new("work").run_id(RunId::new());
    assert_eq!(handle.start(request.clone()).await.unwrap_err().code(), "START_FAILED");
    let run = handle.start(request).await.unwrap();
    assert!(run.collect().await.into_result().unwrap().is_completed());
}

#[tokio::test]
async fn every_failure_after_the_id_was_made_returns_it() {
    let scripts = [Script::new().fail_start("busy"), Script::new().panic("oh").in_start()];
    let (_subagents, handle, _log) = scripted(ScriptedProvider::playing(scripts));
    for code in ["START_FAILED", "START_PANICKED"] {
        let start = handle.start(Request::new("work"));
        let id = start.run_id();
        let error = start.await.unwrap_err();
        assert_eq!((error.code(), error.run_id()), (code, id));
        assert!(error.to_string().contains(&id.unwrap().to_string()), "{error}");
    }
}

#[tokio::test]
async fn runs_that_end_out_of_order_are_told_apart() {
    let (provider, mut settlements) = by_hand();
    let (subagents, handle) = registered(provider);
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let mut runs = Vec::new();
    let mut open = Vec::new();
    for n in 0..3 {
        runs.push(handle.start(Request::new("work").agent_type(format!("agent-{n}"))).await.unwrap());
        open.push(settlements.recv().await.unwrap());
    }
    let ids: Vec<_> = runs.iter().map(subagent::Live::id).collect();
    for settlement in open.into_iter().rev() {
        let said = settlement.run_id().to_string();
        settlement.settle(Outcome::completed(said));
    }
    assert_eq!(recorder.run_ids(), [ids[0], ids[1], ids[2], ids[2], ids[1], ids[0]]);
    for (run, id) in runs.into_iter().zip(ids) {
        assert_eq!(run.collect().await.into_result().unwrap().text(), id.to_string());
    }
}

#[tokio::test]
async fn a_run_is_found_by_its_whole_id_alone() {
    let (provider, mut settlements) = by_hand();
    let (subagents, handle) = registered(provider);
    let mut near = [1; 16];
    let first = handle.start(Request::new("work").run_id(RunId::from_bytes(near))).await.unwrap();
    near[15] = 2;
    assert!(
        subagents.control(RunId::from_bytes(near)).is_none(),
        "an id that shares 15 bytes is another one"
    );
    let second = handle.start(Request::new("work").run_id(RunId::from_bytes(near))).await.unwrap();
    subagents.control(second.id()).unwrap().cancel("not needed");
    assert!(second.cancellation().is_cancelled() && !first.cancellation().is_cancelled());
    assert!(Subagents::new().control(first.id()).is_none(), "nor is it found elsewhere");
    for run in [first, second] {
        settlements.recv().await.unwrap().complete("done");
        run.dispose().await.unwrap();
    }
    assert!(subagents.control(RunId::from_bytes(near)).is_none(), "a settled run is not live");
}
