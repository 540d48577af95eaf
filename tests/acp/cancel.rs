use std::time::{Duration, Instant};

use futures::StreamExt as _;
use subagent::acp::{PermissionDecision, PermissionPolicy};
use subagent::{Event, Request, RunState, StopReason, Subagents};
use tokio_util::sync::CancellationToken;

use super::scene::{PATIENCE, SOON, Scene, ended, patiently};

#[tokio::test]
async fn a_cancelled_run_is_aborted_whatever_the_agent_answers() {
    for answer in ["cancelled", "end_turn", "refusal", "out_of_cheese"] {
        let Some(scene) = Scene::new() else { return };
        let agent = scene.register(scene.agent(&[]));
        let run = scene.start(&agent, &format!("say so far\nwait-cancel {answer}")).await;
        patiently(run.updates().next()).await.unwrap().unwrap();
        run.cancel("enough");
        let said = patiently(run.collect()).await.into_result().unwrap();
        // What had completed stays completed; an agent that was cancelled has not.
        assert_eq!(ended(&said), (&StopReason::Aborted, "so far".into()), "{answer}");
        assert_eq!(scene.log().matches("session/cancel").count(), 1);
    }
}

#[tokio::test]
async fn the_callers_token_cancels_the_turn() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let token = CancellationToken::new();
    let request = Request::new("say x\nwait-cancel").cancellation(token.clone());
    let run = scene.try_start(&agent, request).await.unwrap();
    patiently(run.updates().next()).await.unwrap().unwrap();
    token.cancel();
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert_eq!(ended(&said), (&StopReason::Aborted, "x".into()));
    assert!(scene.log().contains("session/cancel"));
}

#[tokio::test]
async fn an_agent_that_ignores_the_cancel_holds_nobody_up_and_is_killed() {
    let subagents = Subagents::builder().cancel_grace(SOON).build();
    let Some(scene) = Scene::with(subagents) else { return };
    let options = ["ignore-eof", "trap-term={}/terminated", "trapping-grandchild={}/grandchild"];
    let agent = scene.agent(&options).cancel_limit(SOON * 3).stdin_end_grace(SOON).terminate_grace(SOON);
    let agent = scene.register(agent);
    let run = scene.start(&agent, "say x\nhang").await;
    patiently(run.updates().next()).await.unwrap().unwrap();
    let began = Instant::now();
    run.cancel("enough");
    let said = patiently(run.result()).await.unwrap();
    assert_eq!(ended(&said), (&StopReason::Aborted, "x".into()));
    assert!(began.elapsed() < Duration::from_secs(20));
    patiently(run.dispose()).await.unwrap();
    scene.assert_nothing_left();
}

#[tokio::test]
async fn an_agent_that_dies_after_the_cancel_is_aborted() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let run = scene.start(&agent, "say x\nsleep 0.2\nexit 1").await;
    patiently(run.updates().next()).await.unwrap().unwrap();
    run.cancel("enough");
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert_eq!(said.stop_reason(), &StopReason::Aborted);
}

#[tokio::test]
async fn a_run_that_is_disposed_of_in_its_turn_is_aborted_and_told_once() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let run = scene.start(&agent, "say x\nhang").await;
    patiently(run.updates().next()).await.unwrap().unwrap();
    patiently(run.dispose()).await.unwrap();
    assert_eq!(scene.lifecycle(), ["started", "aborted"]);
    scene.assert_nothing_left();
}

#[tokio::test]
async fn a_cancel_in_the_moment_of_publication_is_a_run_that_is_aborted() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let token = CancellationToken::new();
    let cancel = token.clone();
    let _listener = scene.subagents.subscribe(move |event| {
        if matches!(event, Event::Started(_)) {
            cancel.cancel();
        }
    });
    let request = Request::new("say x\nwait-cancel").cancellation(token);
    let run = scene.try_start(&agent, request).await.unwrap();
    let collected = patiently(run.collect()).await;
    assert_eq!(collected.result.unwrap().stop_reason(), &StopReason::Aborted);
    collected.disposal.unwrap();
    assert_eq!(scene.lifecycle(), ["started", "aborted"]);
}

#[tokio::test]
async fn a_cancelled_run_is_over_for_everyone_who_looks() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let run = scene.start(&agent, "say x\nwait-cancel end_turn").await;
    let control = scene.subagents.control(run.id()).unwrap();
    let mut updates = run.updates();
    patiently(updates.next()).await.unwrap().unwrap();
    control.cancel("enough");
    // The stream ends, and with it the run is settled.
    while patiently(updates.next()).await.is_some() {}
    assert_eq!(control.state(), RunState::Settled);
    let (one, two) = tokio::join!(run.result(), run.result());
    assert_eq!(one.unwrap().stop_reason(), two.unwrap().stop_reason());
    patiently(run.dispose()).await.unwrap();
    assert_eq!(scene.lifecycle(), ["started", "aborted"]);
}

#[tokio::test]
async fn a_permission_that_is_asked_for_or_held_when_the_cancel_comes_is_answered_cancelled() {
    for script in [
        "say x\npermission allow_once,reject_once\nsay  on\nwait-cancel",
        "say x\nask-after-cancel allow_once",
    ] {
        let Some(scene) = Scene::new() else { return };
        let policy = PermissionPolicy::ask(PATIENCE, async |_| {
            std::future::pending::<()>().await;
            PermissionDecision::Allow
        });
        let agent = scene.register(scene.agent(&[]).permissions(policy));
        let run = scene.start(&agent, script).await;
        patiently(run.updates().next()).await.unwrap().unwrap();
        tokio::time::sleep(SOON).await;
        run.cancel("enough");
        let said = patiently(run.collect()).await.into_result().unwrap();
        assert_eq!(said.stop_reason(), &StopReason::Aborted);
        assert!(said.text().contains("[cancelled]"), "{}", said.text());
    }
}
