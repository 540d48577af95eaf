use std::time::Duration;

use subagent::acp::{Acp, AcpStartError};
use subagent::{CancelCause, ContentBlock, Declares, Parent, Request, StartError, StopReason};
use tokio_util::sync::CancellationToken;

use super::scene::{Scene, acp_error, ended, patiently};

#[tokio::test]
async fn it_supports_no_start_time_capability() {
    assert_eq!(<Acp as Declares>::CAPABILITIES.names().count(), 0);
    let Some(scene) = Scene::new() else { return };
    let _agent = scene.register(scene.agent(&[]));
    for (name, refused) in [
        ("depth limit", scene.subagents.start("agent", Request::new("say x").max_depth(1)).await.map(drop)),
        (
            "persona",
            scene.subagents.start("agent", Request::new("say x").persona("A clerk.")).await.map(drop),
        ),
    ] {
        assert_eq!(refused.unwrap_err().code(), "UNSUPPORTED_CAPABILITY", "{name}");
    }
    assert_eq!(scene.started(), 0);
}

#[tokio::test]
async fn it_leaves_with_its_registration() {
    let Some(scene) = Scene::new() else { return };
    drop(scene.register(scene.agent(&[])));
    let refused = scene.subagents.start("agent", Request::new("say x")).await.unwrap_err();
    assert_eq!(refused.code(), "NO_PROVIDER");
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_an_error_that_names_it() {
    let Some(scene) = Scene::new() else { return };
    let error = scene.refused(Acp::builder("no-such-agent-anywhere").working_dir(&scene.directory)).await;
    assert!(matches!(error, AcpStartError::Spawn { .. }), "{error}");
    assert!(error.to_string().contains("no-such-agent-anywhere"), "{error}");
}

#[tokio::test]
async fn a_working_directory_that_cannot_be_used_is_refused_before_anything_is_spawned() {
    let Some(scene) = Scene::new() else { return };
    std::fs::write(scene.path("file"), "").unwrap();
    for (directory, reason) in [(scene.path("missing"), "exist"), (scene.path("file"), "directory")] {
        let error = scene.refused(scene.agent(&[]).working_dir(directory)).await;
        assert!(error.to_string().contains(reason), "{error}");
    }
    // A parent's directory is known only at the start.
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acp/scripted_agent.py");
    let anywhere = scene.register(Acp::builder("python3").argument(script));
    for directory in ["relative", ""] {
        let parent = Parent::new("main", "1").with_working_dir(directory);
        let refused = scene.try_start(&anywhere, Request::new("cwd").parent(&parent)).await;
        let error = acp_error(refused.unwrap_err());
        assert_eq!(error.code(), "WORKING_DIRECTORY");
        assert!(error.to_string().contains("absolute"), "{error}");
    }
    assert_eq!(scene.started(), 0);
}

#[tokio::test]
async fn it_works_in_the_callers_directory_else_in_the_parents_and_never_in_this_process_s() {
    let Some(scene) = Scene::new() else { return };
    let other = scene.path("other");
    std::fs::create_dir(&other).unwrap();
    let parent = Parent::new("main", "1").with_working_dir(&other);
    let request = || Request::new("cwd").parent(&parent);

    let callers = scene.register(scene.agent(&[]));
    let said = scene.try_start(&callers, request()).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(said.text(), format!("[{}]", scene.directory.display()));
    drop(callers);

    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acp/scripted_agent.py");
    let nowhere = scene.register(Acp::builder("python3").argument(script));
    let said = scene.try_start(&nowhere, request()).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(said.text(), format!("[{}]", other.display()));
    let refused = acp_error(scene.try_start(&nowhere, Request::new("cwd")).await.unwrap_err());
    assert_eq!(refused.code(), "NO_WORKING_DIRECTORY");
}

#[tokio::test]
async fn a_run_that_is_cancelled_beforehand_launches_nothing() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let token = CancellationToken::new();
    token.cancel();
    let refused =
        scene.try_start(&agent, Request::new("say x").cancellation(token.clone())).await.unwrap_err();
    assert!(matches!(refused, StartError::Cancelled { cause: CancelCause::Token, .. }), "{refused}");
    token.cancel();
    scene.subagents.shutdown().await;
    assert_eq!((scene.started(), scene.lifecycle().len()), (0, 0));
}

#[tokio::test]
async fn a_start_that_is_cancelled_while_the_session_opens_leaves_nothing_and_prompts_nothing() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&["silent-on=session/new", "trapping-grandchild={}/grandchild"]));
    let token = CancellationToken::new();
    let starting = agent.start(Request::new("say x").cancellation(token.clone()));
    let cancel = async {
        scene.heard("session/new").await;
        token.cancel();
    };
    let (refused, ()) = patiently(async { tokio::join!(starting, cancel) }).await;
    assert_eq!(refused.unwrap_err().code(), "CANCELLED");
    scene.gone().await;
    assert!(!scene.log().contains("session/prompt"));
    assert!(scene.lifecycle().is_empty());
}

#[tokio::test]
async fn a_start_that_is_dropped_leaves_nothing() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&["silent-on=session/new", "ignore-eof"]));
    tokio::select! {
        _ = agent.start(Request::new("say x")) => panic!("it cannot start"),
        () = scene.heard("session/new") => {}
    }
    scene.gone().await;
    assert!(scene.lifecycle().is_empty());
}

#[tokio::test]
async fn a_handshake_that_fails_is_an_error_once_everything_is_reaped() {
    for (option, code, words) in [
        ("exit=3", "GONE", "status 3"),
        ("exit-after=initialize:5", "GONE", "status 5"),
        ("exit-after=session/new:4", "GONE", "status 4"),
        ("no-session-id", "MALFORMED", "no session id"),
        ("version=2", "PROTOCOL_VERSION", "version 2"),
        ("error-on=session/new:-32603:out of cheese", "REFUSED", "out of cheese"),
        ("error-on=session/new:-32000:Log in first", "LOGIN_REQUIRED", "Log in"),
    ] {
        let Some(scene) = Scene::new() else { return };
        let error = scene.refused(scene.agent(&[option, "stderr=last words"])).await;
        assert_eq!(error.code(), code, "{error}");
        let text = error.to_string();
        assert!(text.contains("python3") && text.contains(words), "{text}");
        assert!(code != "GONE" || text.contains("last words"), "{text}");
    }
}

#[tokio::test]
async fn an_agent_that_never_answers_is_ended_at_the_limit_for_the_whole_start() {
    for option in ["silent", "silent-on=session/new"] {
        let Some(scene) = Scene::new() else { return };
        let agent = scene.agent(&["stderr=still thinking", option]);
        let error = scene.refused(agent.start_limit(Duration::from_secs(2))).await;
        assert_eq!(error.code(), "DEADLINE");
        let text = error.to_string();
        assert!(text.contains("python3") && text.contains("still thinking"), "{text}");
    }
}

#[tokio::test]
async fn content_that_the_agent_cannot_take_is_named_and_never_dropped() {
    let image = || vec![ContentBlock::text("say seen"), ContentBlock::image("AA==", "image/png")];
    let Some(scene) = Scene::new() else { return };
    let blind = scene.register(scene.agent(&[]));
    let refused = scene.try_start(&blind, Request::new(image())).await.unwrap_err();
    assert_eq!(refused.code(), "UNSUPPORTED_CONTENT");
    let text = refused.to_string();
    assert!(text.contains("`agent` cannot carry image content (block 1"), "{text}");
    assert!(!scene.log().contains("session/prompt"));
    scene.assert_nothing_left();

    let run = scene.start(&blind, "say one").await.settle().await;
    let (refused, settled) = run.resume(image()).await.unwrap_err().into_parts();
    assert_eq!(refused.code(), "UNSUPPORTED_CONTENT");
    settled.dispose().await.unwrap();
    drop(blind);

    let seeing = scene.register(scene.agent(&["able=image"]));
    let run = scene.try_start(&seeing, Request::new(image())).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "seen");
}

#[tokio::test]
async fn limits_that_no_timer_should_be_given_are_refused_when_it_is_built() {
    let built = Acp::builder("agent").terminate_grace(Duration::MAX).build();
    assert_eq!(built.unwrap_err().code(), "TIME_OUT_OF_RANGE");
    let built = Acp::builder("agent").stdin_end_grace(Duration::from_hours(25)).build();
    assert!(built.unwrap_err().to_string().contains("the grace after stdin ends"));
    let built = Acp::builder("agent").variable("A=B", "secret").build();
    assert_eq!(built.unwrap_err().code(), "INVALID_VARIABLE");
}

#[test]
fn a_command_without_a_name_and_a_relative_directory_are_refused_when_it_is_built() {
    assert_eq!(Acp::builder("").build().unwrap_err().code(), "NO_COMMAND");
    let error = Acp::builder("agent").working_dir("project").build().unwrap_err();
    assert_eq!(error.code(), "RELATIVE_DIRECTORY");
    assert!(error.to_string().contains("project is not absolute"), "{error}");
}

#[tokio::test]
async fn model_and_mode_are_set_before_the_first_prompt_or_the_start_fails() {
    let Some(scene) = Scene::new() else { return };
    let said = scene.said(scene.agent(&[]).model("large").mode("code").client_name("acme"), "say x").await;
    assert_eq!(said.stop_reason(), &StopReason::Completed);
    let log = scene.log();
    let at = |word: &str| log.find(word).unwrap_or_else(|| panic!("no {word} in {log}"));
    assert!(at("session/set_config_option") < at("session/set_mode"));
    assert!(at("session/set_mode") < at("session/prompt"));
    assert!(log.contains(r#""name":"acme""#), "{log}");

    let Some(scene) = Scene::new() else { return };
    let error = scene.refused(scene.agent(&[]).mode("plan")).await;
    assert_eq!(error.code(), "UNKNOWN_CHOICE");
    assert!(error.to_string().contains("plan"), "{error}");
}

#[tokio::test]
async fn two_runs_of_one_provider_are_two_processes() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let (one, two) = tokio::join!(scene.result(&agent, "say one"), scene.result(&agent, "say two"));
    assert_eq!(ended(&one), (&StopReason::Completed, "one".into()));
    assert_eq!(ended(&two), (&StopReason::Completed, "two".into()));
    assert_eq!(scene.started(), 2);
}
