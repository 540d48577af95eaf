use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::scene::{PATIENCE, Scene, turn, turn_until};
use crate::acp::permission::{PermissionDecision, PermissionPolicy};
use crate::acp::settings::Settings;
use crate::content::ContentBlock;
use crate::stop_reason::StopReason;
use crate::update::Update;

#[tokio::test]
async fn chunks_and_thoughts_and_usage_are_reported_in_order() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    let usage = r#"usage {"inputTokens": 3, "outputTokens": 2}"#;
    let said =
        turn(&session, &format!("think hm\nsay one \nimage\nforeign not ours\nsay two\n{usage}")).await;
    assert_eq!(said.outcome.stop, StopReason::Completed);
    assert_eq!(said.text(), "one two");
    assert_eq!(said.updates[0], Update::thought("hm"));
    assert!(matches!(said.updates.last(), Some(Update::Usage(usage)) if usage.input_tokens == Some(3)));
    session.close().await.unwrap();
}

#[tokio::test]
async fn stop_reasons_come_through_and_an_unknown_one_is_an_error_with_its_word() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    for (word, stop) in [
        ("max_tokens", StopReason::MaxTokens),
        ("max_turn_requests", StopReason::TurnLimit),
        ("refusal", StopReason::Refusal),
        ("cancelled", StopReason::Aborted),
        ("out_of_cheese", StopReason::Error),
    ] {
        let said = turn(&session, &format!("stop {word}")).await;
        assert_eq!(said.outcome.stop, stop, "{word}");
        if stop == StopReason::Error {
            assert!(said.outcome.diagnostic.unwrap().contains(word));
        }
    }
    session.close().await.unwrap();
}

#[tokio::test]
async fn unknown_updates_and_broken_ones_do_no_harm() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    let said = turn(
        &session,
        "update {\"sessionUpdate\": \"telepathy\", \"of\": 1}\nupdate {\"sessionUpdate\": 7}\n\
         raw {\"jsonrpc\":\"2.0\",\"method\":\"session/update\"}\nraw {\"jsonrpc\":\"2.0\",\"method\":\"acme/odd\"}\n\
         raw not json\nunknown-request\nsay on",
    )
    .await;
    assert_eq!(said.text(), "[-32601]on");
    assert_eq!(said.others("telepathy"), [&json!({ "of": 1 })]);
    session.close().await.unwrap();
}

#[tokio::test]
async fn an_answer_without_a_newline_before_the_end_is_an_answer() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    let said = turn(&session, "say last words\nanswer-without-newline").await;
    assert_eq!((said.outcome.stop.clone(), said.text().as_str()), (StopReason::Completed, "last words"));
    session.close().await.unwrap();
}

#[tokio::test]
async fn an_agent_that_dies_loses_nothing_it_wrote_though_a_grandchild_holds_its_pipes() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    let script = "say before\nstderr out of cheese\ngrandchild {}/grandchild\nsay  the end\nexit 7"
        .replace("{}", scene.directory.to_str().unwrap());
    let said = turn(&session, &script).await;
    assert_eq!((said.outcome.stop.clone(), said.text().as_str()), (StopReason::Error, "before the end"));
    let diagnostic = said.outcome.diagnostic.unwrap();
    assert!(diagnostic.contains("status 7") && diagnostic.contains("out of cheese"), "{diagnostic}");
    session.connection().kill();
    session.close().await.unwrap();
}

#[tokio::test]
async fn an_agent_that_is_killed_is_reported_with_the_signal() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    let said = turn(&session, "kill 9").await;
    assert!(said.outcome.diagnostic.unwrap().contains("signal 9"));
    assert!(!session.connection().is_open());
    session.close().await.unwrap();
}

#[tokio::test]
async fn an_agent_that_closes_its_output_but_lives_on_is_gone_for_us() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    let said = turn(&session, "close-stdout").await;
    let diagnostic = said.outcome.diagnostic.unwrap();
    assert!(diagnostic.contains("closed its output, but lives on"), "{diagnostic}");
    session.connection().kill();
    session.close().await.unwrap();
}

#[tokio::test]
async fn an_error_answer_is_an_error_with_its_words() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    let said = turn(&session, "say half\nerror -32603 the model is down").await;
    assert_eq!((said.outcome.stop.clone(), said.text().as_str()), (StopReason::Error, "half"));
    assert!(said.outcome.diagnostic.unwrap().contains("the model is down"));
    session.close().await.unwrap();
}

#[tokio::test]
async fn a_cancelled_turn_is_aborted_whatever_comes_back() {
    for answer in ["cancelled", "end_turn", "refusal", "out_of_cheese"] {
        let Some(scene) = Scene::new() else { return };
        let session = scene.session(&["log={}/log"]).await;
        let cancel = CancellationToken::new();
        let said =
            turn_until(&session, &format!("say so far\nwait-cancel {answer}"), &cancel, |_| cancel.cancel())
                .await;
        assert_eq!(
            (said.outcome.stop.clone(), said.text().as_str()),
            (StopReason::Aborted, "so far"),
            "{answer}"
        );
        session.close().await.unwrap();
        let log = std::fs::read_to_string(scene.path("log")).unwrap();
        assert_eq!(log.matches("session/cancel").count(), 1);
    }
}

#[tokio::test]
async fn an_agent_that_dies_after_a_cancel_is_aborted() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    let cancel = CancellationToken::new();
    let said = turn_until(&session, "say x\nsleep 0.2\nexit 1", &cancel, |_| cancel.cancel()).await;
    assert_eq!(said.outcome.stop, StopReason::Aborted);
    session.close().await.unwrap();
}

#[tokio::test]
async fn an_agent_that_ignores_a_cancel_is_killed() {
    let Some(scene) = Scene::new() else { return };
    let settings = Settings { cancel_limit: Duration::from_millis(300), ..Settings::default() };
    let session = scene.session_with(&["ignore-eof", "trap-term={}/terminated"], settings).await;
    let cancel = CancellationToken::new();
    let said = turn_until(&session, "say x\nhang", &cancel, |_| cancel.cancel()).await;
    assert_eq!(said.outcome.stop, StopReason::Aborted);
    scene.assert_gone_but_the_zombie().await;
    session.close().await.unwrap();
}

#[tokio::test]
async fn a_turn_that_is_cancelled_before_it_begins_is_never_prompted() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&["log={}/log"]).await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    assert_eq!(turn_until(&session, "say x", &cancel, |_| {}).await.outcome.stop, StopReason::Aborted);
    session.close().await.unwrap();
    let log = std::fs::read_to_string(scene.path("log")).unwrap();
    assert!(!log.contains("session/prompt") && !log.contains("session/cancel"));
}

#[tokio::test]
async fn permissions_are_picked_by_kind() {
    for (policy, offered, answer, outcome) in [
        (PermissionPolicy::reject(), "allow_once,reject_once", "[option 1]", "denied"),
        (PermissionPolicy::reject(), "allow_once,reject_always", "[cancelled]", "denied"),
        (PermissionPolicy::allow(), "reject_once,allow_always,allow_once", "[option 2]", "allowed"),
        (PermissionPolicy::allow(), "reject_once", "[cancelled]", "allowed"),
        (
            PermissionPolicy::ask(PATIENCE, async |_| PermissionDecision::NobodyToAsk),
            "reject_once",
            "[option 0]",
            "nobody_to_ask",
        ),
        (
            PermissionPolicy::ask(Duration::from_millis(50), |_| std::future::pending()),
            "reject_once",
            "[option 0]",
            "expired",
        ),
    ] {
        let Some(scene) = Scene::new() else { return };
        let session = scene.session_with(&[], Settings { permissions: policy, ..Settings::default() }).await;
        let said = turn(&session, &format!("permission {offered}")).await;
        assert_eq!(said.text(), answer);
        assert_eq!(said.others("permission")[0]["outcome"], outcome);
        session.close().await.unwrap();
    }
}

#[tokio::test]
async fn permission_requests_held_or_arriving_after_a_cancel_are_answered_cancelled() {
    for script in ["permission allow_once", "say x\nask-after-cancel allow_once"] {
        let Some(scene) = Scene::new() else { return };
        let cancel = CancellationToken::new();
        let held = cancel.clone();
        let permissions = PermissionPolicy::ask(PATIENCE, move |_| {
            held.cancel();
            std::future::pending()
        });
        let session = scene.session_with(&[], Settings { permissions, ..Settings::default() }).await;
        let said = turn_until(&session, script, &cancel, |_| cancel.cancel()).await;
        assert_eq!(said.outcome.stop, StopReason::Aborted);
        assert!(said.text().ends_with("[cancelled]"), "{}", said.text());
        session.close().await.unwrap();
    }
}

#[tokio::test]
async fn an_idle_turn_and_a_long_one_end_at_their_limits() {
    let limit = Some(Duration::from_millis(300));
    for (settings, words) in [
        (Settings { idle_limit: limit, ..Settings::default() }, "no update"),
        (Settings { turn_limit: limit, ..Settings::default() }, "took longer"),
    ] {
        let Some(scene) = Scene::new() else { return };
        let session = scene.session_with(&[], settings).await;
        let said = turn(&session, "say x\nwait-cancel").await;
        assert_eq!((said.outcome.stop.clone(), said.text().as_str()), (StopReason::TimeLimit, "x"));
        assert!(said.outcome.diagnostic.unwrap().contains(words));
        session.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_flood_is_slowed_by_whoever_takes_the_updates() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&[]).await;
    let count = Arc::new(AtomicUsize::new(0));
    let content = [ContentBlock::text("flood 20000")];
    let cancel = CancellationToken::new();
    let outcome = session
        .run_turn(&content, &cancel, |_| {
            count.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now()
        })
        .await;
    assert_eq!((outcome.stop, count.load(Ordering::Relaxed)), (StopReason::Completed, 20_000));
    session.close().await.unwrap();
}

#[tokio::test]
async fn a_secret_of_the_parent_reaches_neither_child_nor_diagnostic() {
    let Some(scene) = Scene::new() else { return };
    let mut program = scene.agent(&[]);
    program.environment.set.insert("MY_API_KEY".into(), "explicit-marker-value".into());
    let connection = crate::acp::connection::Connection::open(&program, Arc::default()).await.unwrap();
    let session = crate::acp::session::Session::open(Arc::new(connection), scene.setup()).await.unwrap();
    assert_eq!(
        turn(&session, "env MY_API_KEY\nenv CARGO_REGISTRY_TOKEN").await.text(),
        "[explicit-marker-value][unset]"
    );
    let said = turn(&session, "stderr the key is explicit-marker-value\nexit 1").await;
    let diagnostic = said.outcome.diagnostic.unwrap();
    assert!(diagnostic.contains("the key is [hidden]"), "{diagnostic}");
    assert!(!format!("{session:?}").contains("marker"));
    session.close().await.unwrap();
}
