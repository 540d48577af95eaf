use subagent::acp::{AcpStartError, AcpSteerError};
use subagent::{ContentBlock, Request, SteerError, StopReason};

use super::scene::{Scene, ended, patiently};

#[tokio::test]
async fn a_message_joins_the_turn_that_is_under_way() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&["steering"]).steering());
    let run = scene.start(&agent, "say x\nwait-message\nwait-message").await;
    scene.heard("session/prompt").await;
    patiently(run.send_message("one")).await.unwrap();
    patiently(run.send_message("two")).await.unwrap();
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert_eq!(ended(&said), (&StopReason::Completed, "x[one][two]".into()));
}

#[tokio::test]
async fn an_agent_that_does_not_advertise_it_is_not_started() {
    let Some(scene) = Scene::new() else { return };
    let error = scene.refused(scene.agent(&[]).steering()).await;
    assert!(matches!(error, AcpStartError::NotOffered { .. }), "{error}");
    assert!(error.to_string().contains("_meta.steering.supported"), "{error}");
    assert!(!scene.log().contains("session/new"));
}

#[tokio::test]
async fn a_plain_run_is_narrowed_after_the_handshake_or_given_back() {
    let Some(scene) = Scene::new() else { return };
    let able = scene.register(scene.agent(&["steering"]));
    let run = scene.start(&able, "wait-message").await.into_steerable().unwrap();
    scene.heard("session/prompt").await;
    patiently(run.send_message("hello")).await.unwrap();
    assert_eq!(patiently(run.collect()).await.into_result().unwrap().text(), "[hello]");
    drop(able);

    let unable = scene.register(scene.agent(&[]));
    let run = scene.start(&unable, "say x").await.into_steerable().unwrap_err();
    assert_eq!(patiently(run.collect()).await.into_result().unwrap().text(), "x");
}

#[tokio::test]
async fn an_erased_run_can_be_steered_where_its_type_can() {
    let Some(scene) = Scene::new() else { return };
    let _agent = scene.register(scene.agent(&["steering"]).steering());
    let run = scene.subagents.start("agent", Request::new("wait-message")).await.unwrap();
    let run = run.into_steerable().unwrap();
    scene.heard("session/prompt").await;
    patiently(run.send_message("hello")).await.unwrap();
    assert_eq!(patiently(run.collect()).await.into_result().unwrap().text(), "[hello]");
}

#[tokio::test]
async fn a_message_that_came_too_late_or_was_not_taken_is_an_error() {
    for (outcome, code, words) in [
        ("promptRequired", "SETTLED", ""),
        ("startedNewTurn", "SETTLED", ""),
        ("failed", "STEER_FAILED", "failed"),
    ] {
        let Some(scene) = Scene::new() else { return };
        let agent = scene.register(scene.agent(&[&format!("steering={outcome}")]).steering());
        let run = scene.start(&agent, "say x\nwait-cancel").await;
        scene.heard("session/prompt").await;
        let error = patiently(run.send_message("hello")).await.unwrap_err();
        assert_eq!(error.code(), code, "{outcome}");
        if let SteerError::Failed { source } = error {
            let source = source.downcast::<AcpSteerError>().unwrap();
            assert!(source.to_string().contains(words), "{source}");
        }
        patiently(run.dispose()).await.unwrap();
    }
}

#[tokio::test]
async fn a_message_that_the_agent_cannot_take_is_named() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&["steering"]).steering());
    let run = scene.start(&agent, "wait-cancel").await;
    let error =
        patiently(run.send_message(vec![ContentBlock::image("AA==", "image/png")])).await.unwrap_err();
    assert_eq!(error.code(), "UNSUPPORTED_CONTENT");
    patiently(run.dispose()).await.unwrap();
}

#[tokio::test]
async fn a_message_that_is_never_answered_ends_with_the_turn() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&["steering=silent"]).steering());
    let run = scene.start(&agent, "say x\nwait-cancel").await;
    scene.heard("session/prompt").await;
    let cancel = async {
        scene.heard("_session/steering").await;
        run.cancel("enough");
    };
    let (sent, ()) = patiently(async { tokio::join!(run.send_message("hello"), cancel) }).await;
    assert_eq!(sent.unwrap_err().code(), "STEER_FAILED");
    patiently(run.dispose()).await.unwrap();
}
