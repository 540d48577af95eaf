use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::scene::{Scene, turn, turn_until};
use crate::acp::error::AcpStartError;
use crate::acp::session::{Session, SessionSetup};
use crate::stop_reason::StopReason;

async fn cancel_a_turn(session: &Session, answer: &str) {
    let cancel = CancellationToken::new();
    let script = format!("say x\nwait-cancel {answer}");
    let said = turn_until(session, &script, &cancel, |_| cancel.cancel()).await;
    assert_eq!(said.outcome.stop, StopReason::Aborted);
}

#[tokio::test]
async fn a_follow_up_is_another_turn_and_late_updates_do_not_leak_into_it() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    assert_eq!(turn(&session, "say one\nlate leaked").await.text(), "one");
    assert_eq!(turn(&session, "say two").await.text(), "two");
    session.close().await.unwrap();
}

#[tokio::test]
async fn a_stale_answer_after_a_cancel_reopens_the_session_and_asks_again() {
    for able in ["able=resume", "able=load"] {
        let Some(scene) = Scene::new() else { return };
        let options = [able, "replay=the past", "late-replay=more of it", "stale"];
        let session = scene.session(&options).await;
        cancel_a_turn(&session, "cancelled").await;
        let said = turn(&session, "say the answer").await;
        assert_eq!(
            (said.outcome.stop.clone(), said.text().as_str()),
            (StopReason::Completed, "the answer"),
            "{able}"
        );
        session.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_stale_answer_where_nothing_can_be_reopened_is_a_clear_error() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&["stale"]).await;
    cancel_a_turn(&session, "cancelled").await;
    let said = turn(&session, "say the answer").await;
    assert_eq!(said.outcome.stop, StopReason::Error);
    let diagnostic = said.outcome.diagnostic.unwrap();
    assert!(diagnostic.contains("turn before") && diagnostic.contains("session/resume"), "{diagnostic}");
    session.close().await.unwrap();
}

#[tokio::test]
async fn an_empty_answer_that_follows_no_cancel_is_an_answer() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&["able=resume", "log={}/log"]).await;
    for _ in 0..2 {
        assert_eq!(turn(&session, "").await.outcome.stop, StopReason::Completed);
    }
    session.close().await.unwrap();
    assert!(!std::fs::read_to_string(scene.path("log")).unwrap().contains("session/resume"));
}

#[tokio::test]
async fn a_session_is_opened_again_in_a_fresh_process_and_its_past_is_kept_out() {
    for options in [
        &["able=resume,list", "session=s-1"][..],
        &["able=load", "session=s-1", "replay=the past", "late-replay=more of it"],
    ] {
        let Some(scene) = Scene::new() else { return };
        let first = scene.session(options).await;
        first.close().await.unwrap();
        let connection = Arc::new(scene.connect(options).await.unwrap());
        let again = Session::reopen(connection, scene.setup(), first.id()).await.unwrap();
        assert_eq!(turn(&again, "say now").await.text(), "now");
        again.close().await.unwrap();
    }
}

#[tokio::test]
async fn an_agent_that_accepts_a_session_it_does_not_know_is_not_trusted() {
    for options in [&["able=resume,list", "unlisted"][..], &["able=load"]] {
        let Some(scene) = Scene::new() else { return };
        let connection = Arc::new(scene.connect(options).await.unwrap());
        let error = Session::reopen(connection, scene.setup(), "session-9").await.unwrap_err();
        assert!(error.to_string().contains("does not know"), "{error}");
        assert!(scene.left().is_empty());
    }
}

#[tokio::test]
async fn model_and_mode_are_chosen_or_refused_with_what_there_is() {
    let Some(scene) = Scene::new() else { return };
    let connection = Arc::new(scene.connect(&["log={}/log"]).await.unwrap());
    let setup = SessionSetup { model: Some("large".into()), mode: Some("code".into()), ..scene.setup() };
    let session = Session::open(connection, setup).await.unwrap();
    session.close().await.unwrap();
    let log = std::fs::read_to_string(scene.path("log")).unwrap();
    assert!(log.contains("session/set_config_option") && log.contains("session/set_mode"));

    let connection = Arc::new(scene.connect(&[]).await.unwrap());
    let setup = SessionSetup { model: Some("huge".into()), ..scene.setup() };
    let error = Session::open(connection, setup).await.unwrap_err();
    assert!(
        matches!(&error, AcpStartError::UnknownChoice { known, .. } if known == &["small", "large"]),
        "{error}"
    );
}

#[tokio::test]
async fn the_kinds_of_content_are_those_that_the_agent_declares() {
    for (options, kinds) in
        [(&[][..], "text, resource_link"), (&["able=image"], "text, image, resource_link")]
    {
        let Some(scene) = Scene::new() else { return };
        let session = scene.session(options).await;
        assert_eq!(session.content().to_string(), kinds);
        session.close().await.unwrap();
    }
}
