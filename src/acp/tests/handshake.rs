use std::error::Error as _;
use std::time::Duration;

use super::scene::Scene;
use crate::acp::error::AcpStartError;
use crate::acp::process::{EndGraces, Program};
use crate::acp::session::Session;
use crate::acp::settings::Settings;
use std::sync::Arc;

fn impatient() -> Settings {
    Settings { start_limit: Duration::from_secs(5), ..Settings::default() }
}

async fn refused(scene: &Scene, options: &[&str], settings: Settings) -> AcpStartError {
    let refused = match scene.connect_with(options, settings).await {
        Err(error) => error,
        Ok(connection) => {
            Session::open(Arc::new(connection), scene.setup()).await.expect_err("it has to fail")
        }
    };
    assert!(scene.left().is_empty(), "a failed start left: {:#?}", scene.left());
    refused
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_named() {
    let Some(scene) = Scene::new() else { return };
    let program = Program { command: "no-such-agent-anywhere".into(), ..scene.agent(&[]) };
    let error =
        crate::acp::connection::Connection::open(&program, Arc::default()).await.expect_err("there is none");
    assert!(matches!(error, AcpStartError::Spawn { .. }), "{error}");
    assert!(error.to_string().contains("no-such-agent-anywhere"));
    assert!(error.source().is_some_and(|source| !error.to_string().contains(&source.to_string())));
}

#[tokio::test]
async fn an_agent_that_exits_is_reported_with_its_status_and_last_words() {
    for option in ["exit=3", "exit-after=initialize:3", "exit-after=session/new:3"] {
        let Some(scene) = Scene::new() else { return };
        let error = refused(&scene, &["stderr=no licence", option], Settings::default()).await;
        assert!(matches!(error, AcpStartError::Gone { .. }), "{error}");
        let text = error.to_string();
        for part in ["python3", "status 3", "no licence"] {
            assert!(text.contains(part), "{text}");
        }
    }
}

#[tokio::test]
async fn an_agent_that_never_answers_is_ended_at_the_deadline_and_quoted() {
    for option in ["silent", "silent-on=session/new"] {
        let Some(scene) = Scene::new() else { return };
        let error = refused(&scene, &["stderr=still thinking", option], impatient()).await;
        assert!(matches!(error, AcpStartError::Deadline { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("python3") && text.contains("still thinking"), "{text}");
    }
}

#[tokio::test]
async fn another_protocol_version_is_refused() {
    let Some(scene) = Scene::new() else { return };
    let error = refused(&scene, &["version=2"], Settings::default()).await;
    assert!(matches!(&error, AcpStartError::ProtocolVersion { version, .. } if version == "2"), "{error}");
}

#[tokio::test]
async fn an_answer_without_a_session_id_is_refused_after_the_agent_is_gone() {
    let Some(scene) = Scene::new() else { return };
    let error = refused(&scene, &["no-session-id"], Settings::default()).await;
    assert!(matches!(error, AcpStartError::Malformed { .. }), "{error}");
}

#[tokio::test]
async fn an_answer_over_several_lines_or_in_a_batch_is_noise() {
    for option in ["pretty", "batch"] {
        let Some(scene) = Scene::new() else { return };
        let error = refused(&scene, &[option], impatient()).await;
        assert!(error.to_string().contains("not JSON-RPC"), "{error}");
    }
}

#[tokio::test]
async fn noise_carriage_returns_duplicates_and_stray_answers_do_no_harm() {
    let Some(scene) = Scene::new() else { return };
    let options = ["banner=Welcome!", "invalid-utf8", "crlf", "duplicate"];
    let session = scene.session(&options).await;
    assert_eq!(super::scene::turn(&session, "say hello").await.text(), "hello");
    let noise = session.connection().diagnostics().await.noise;
    assert!(noise.iter().any(|line| line == "Welcome!"), "{noise:?}");
    session.close().await.unwrap();
}

#[tokio::test]
async fn a_login_that_is_wanted_is_told_with_the_ways_to_it() {
    let Some(scene) = Scene::new() else { return };
    let error =
        refused(&scene, &["error-on=session/new:-32000:Authentication required"], Settings::default()).await;
    let AcpStartError::LoginRequired { methods, .. } = &error else { panic!("{error}") };
    assert_eq!(methods, &["Log in"]);
}

#[tokio::test]
async fn a_refusal_is_quoted() {
    let Some(scene) = Scene::new() else { return };
    let error = refused(&scene, &["error-on=initialize:-32603:out of cheese"], Settings::default()).await;
    assert!(error.to_string().contains("out of cheese (-32603)"), "{error}");
}

#[tokio::test]
async fn a_line_without_end_is_refused_at_the_limit_with_memory_flat() {
    let Some(scene) = Scene::new() else { return };
    let settings = Settings { longest_line: 8 << 20, ..Settings::default() };
    let before = peak_memory();
    let error = refused(&scene, &["long-line=300000000"], settings).await;
    assert!(error.to_string().contains("a line of more than 8388608 bytes"), "{error}");
    let more = peak_memory() - before;
    assert!(more < 100 << 10, "{more} KiB more");
}

/// The most memory this process ever had, in KiB.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_start_that_is_dropped_leaves_nothing() {
    let Some(scene) = Scene::new() else { return };
    let starting = scene.connect(&["silent", "grandchild={}/grandchild"]);
    let dropped = tokio::select! {
        _ = starting => false,
        _ = scene.appears("grandchild") => true,
    };
    assert!(dropped);
    scene.assert_gone().await;
}

#[tokio::test]
async fn a_working_directory_that_cannot_be_used_is_refused_before_anything_is_spawned() {
    let Some(scene) = Scene::new() else { return };
    let file = scene.path("file");
    std::fs::write(&file, "").unwrap();
    for (directory, reason) in [
        ("relative".into(), "absolute"),
        (scene.path("missing"), "exist"),
        (file, "directory"),
        (std::path::PathBuf::new(), "absolute"),
    ] {
        let program = Program { directory, ..scene.agent(&[]) };
        let error = program.spawn().expect_err("it cannot be used");
        assert!(matches!(error, AcpStartError::WorkingDirectory { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    assert!(!scene.exists("started"));
}

#[tokio::test]
async fn graces_out_of_range_are_refused() {
    let graces = EndGraces { stdin_end: Duration::MAX, ..EndGraces::default() };
    assert!(graces.check().is_err());
}
