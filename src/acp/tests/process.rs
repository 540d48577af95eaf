use std::time::{Duration, Instant};

use super::scene::{Scene, turn};
use crate::acp::process::EndGraces;
use crate::acp::settings::Settings;

fn graces(stdin_end: u64, terminate: u64) -> Settings {
    let graces = EndGraces {
        stdin_end: Duration::from_millis(stdin_end),
        terminate: Duration::from_millis(terminate),
    };
    Settings { graces, ..Settings::default() }
}

/// Closes an agent and says how long that took; nothing may be left.
async fn closed(scene: &Scene, options: &[&str], settings: Settings) -> Duration {
    let connection = scene.connect_with(options, settings).await.unwrap();
    let began = Instant::now();
    connection.close(None).await.unwrap();
    assert!(scene.left().is_empty(), "{:#?}", scene.left());
    began.elapsed()
}

#[tokio::test]
async fn an_agent_that_flushes_at_the_end_of_stdin_is_let_finish() {
    let Some(scene) = Scene::new() else { return };
    closed(&scene, &["flush=0.7:{}/flushed", "exit-on-term={}/terminated"], graces(30_000, 100)).await;
    assert!(scene.exists("flushed") && !scene.exists("terminated"));
}

#[tokio::test]
async fn an_agent_that_ignores_the_end_of_stdin_is_asked_to_end() {
    let Some(scene) = Scene::new() else { return };
    closed(&scene, &["ignore-eof", "exit-on-term={}/terminated"], graces(300, 30_000)).await;
    assert!(scene.exists("terminated"));
}

#[tokio::test]
async fn an_agent_that_survives_everything_else_is_killed() {
    let Some(scene) = Scene::new() else { return };
    let took = closed(&scene, &["ignore-eof", "trap-term={}/terminated"], graces(200, 300)).await;
    assert!(scene.exists("terminated") && took >= Duration::from_millis(500));
}

#[tokio::test]
async fn what_an_agent_started_goes_with_it() {
    for grandchild in ["grandchild", "trapping-grandchild", "leaving-grandchild"] {
        let Some(scene) = Scene::new() else { return };
        closed(&scene, &[&format!("{grandchild}={{}}/grandchild")], graces(100, 200)).await;
        let grandchild = scene.appears("grandchild").await;
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", grandchild.trim()));
        assert!(stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ")));
    }
}

#[tokio::test]
async fn an_agent_behind_a_wrapper_that_forwards_no_signal_goes_too() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session_with(&["wrapper", "ignore-eof"], graces(100, 200)).await;
    assert_eq!(turn(&session, "say through the wrapper").await.text(), "through the wrapper");
    session.close().await.unwrap();
    assert!(scene.left().is_empty(), "{:#?}", scene.left());
}

#[tokio::test]
async fn dropping_a_connection_kills_its_group_at_once() {
    let Some(scene) = Scene::new() else { return };
    let options = [
        "ignore-eof",
        "trap-term={}/terminated",
        "trapping-grandchild={}/one",
        "leaving-grandchild={}/other",
    ];
    let connection = scene.connect(&options).await.unwrap();
    drop(connection);
    scene.assert_gone().await;
    assert!(!scene.exists("terminated"));
}

#[test]
fn dropping_a_connection_kills_its_group_without_a_runtime() {
    let Some(scene) = Scene::new() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let options = ["ignore-eof", "trap-term={}/terminated", "trapping-grandchild={}/grandchild"];
    let connection = runtime.block_on(scene.connect(&options)).unwrap();
    drop(runtime);
    drop(connection);
    assert!(scene.left().is_empty(), "{:#?}", scene.left());
}

#[tokio::test]
async fn a_close_that_is_dropped_half_way_kills_at_once() {
    let Some(scene) = Scene::new() else { return };
    let connection = scene.connect_with(&["ignore-eof"], graces(60_000, 60_000)).await.unwrap();
    let dropped = tokio::time::timeout(Duration::from_millis(300), connection.close(None)).await;
    assert!(dropped.is_err());
    scene.assert_gone().await;
}

#[tokio::test]
async fn closing_twice_waits_for_the_first_and_says_the_same() {
    let Some(scene) = Scene::new() else { return };
    let connection = scene.connect_with(&["flush=0.3:{}/flushed"], graces(30_000, 100)).await.unwrap();
    let (first, second) = tokio::join!(connection.close(None), connection.close(None));
    assert!(first.is_ok() && second.is_ok() && scene.exists("flushed"));
    assert!(connection.close(None).await.is_ok());
}

#[tokio::test]
async fn the_session_is_closed_first_where_the_agent_offers_it() {
    let Some(scene) = Scene::new() else { return };
    let session = scene.session(&["able=close", "log={}/log"]).await;
    session.close().await.unwrap();
    let log = std::fs::read_to_string(scene.path("log")).unwrap();
    let last: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(
        (last["method"].as_str(), last["params"]["sessionId"].as_str()),
        (Some("session/close"), Some("session-1"))
    );
}

/// An owner that ends without a word: this test's own binary, run again as the owner.
#[tokio::test]
async fn an_owner_that_is_killed_takes_its_agents_along() {
    let Some(scene) = Scene::new() else { return };
    let mut owner = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["acp::tests::process::owner_of_an_agent", "--exact"])
        .env("SUBAGENT_TEST_SCENE", &scene.directory)
        .spawn()
        .unwrap();
    scene.appears("ready").await;
    owner.kill().await.unwrap();
    scene.assert_gone().await;
    assert!(scene.exists("terminated"), "it was asked first");
}

/// Does nothing unless the test above runs it as the owner.
#[tokio::test]
async fn owner_of_an_agent() {
    let Some(directory) = std::env::var_os("SUBAGENT_TEST_SCENE") else { return };
    let scene = std::mem::ManuallyDrop::new(Scene { directory: directory.into() });
    let options = ["ignore-eof", "trap-term={}/terminated", "trapping-grandchild={}/grandchild"];
    let _connection = scene.connect(&options).await.unwrap();
    std::fs::write(scene.path("ready"), "").unwrap();
    std::future::pending::<()>().await;
}
