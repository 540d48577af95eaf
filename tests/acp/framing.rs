use futures::StreamExt as _;
use serde_json::json;
use subagent::{StopReason, Subagents, Update};

use super::scene::{SOON, Scene, ended, patiently, rerun, rerun_in};

#[tokio::test]
async fn noise_carriage_returns_duplicates_and_stray_answers_do_no_harm() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.agent(&["banner=Welcome!", "invalid-utf8", "crlf", "duplicate"]);
    let script = "raw not JSON\nraw [1, 2]\nraw {\"level\": \"info\"}\nsay hello";
    assert_eq!(ended(&scene.said(agent, script).await), (&StopReason::Completed, "hello".into()));
    assert!(!scene.log().contains("\"error\""), "none of it was answered: {}", scene.log());
}

#[tokio::test]
async fn an_answer_over_several_lines_or_in_a_batch_is_noise_and_quoted() {
    for option in ["pretty", "batch"] {
        let Some(scene) = Scene::new() else { return };
        let error = scene.refused(scene.agent(&[option]).start_limit(SOON * 10)).await;
        assert_eq!(error.code(), "DEADLINE");
        assert!(error.to_string().contains("not JSON-RPC"), "{error}");
    }
}

#[tokio::test]
async fn updates_of_a_kind_nobody_knows_are_passed_on_and_broken_ones_dropped() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let script = [
        r#"update {"sessionUpdate": "telepathy", "of": 1}"#,
        r#"update {"sessionUpdate": 7}"#,
        r#"raw {"jsonrpc": "2.0", "method": "session/update"}"#,
        r#"raw {"jsonrpc": "2.0", "method": "acme/odd"}"#,
        "unknown-request",
        "say on",
    ];
    let run = scene.start(&agent, &script.join("\n")).await;
    let updates: Vec<_> = patiently(run.updates().map(|update| (*update.unwrap()).clone()).collect()).await;
    let odd = Update::Other { kind: "telepathy".into(), data: json!({ "of": 1 }) };
    assert_eq!(updates.iter().filter(|update| **update == odd).count(), 1, "{updates:?}");
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert_eq!(
        ended(&said),
        (&StopReason::Completed, "[-32601]on".into()),
        "a request we do not know is refused"
    );
}

#[tokio::test]
async fn an_answer_without_a_newline_before_the_end_is_an_answer() {
    let Some(scene) = Scene::new() else { return };
    let said = scene.said(scene.agent(&[]), "say last words\nanswer-without-newline").await;
    assert_eq!(ended(&said), (&StopReason::Completed, "last words".into()));
}

#[tokio::test]
async fn an_agent_that_closes_its_output_but_lives_on_is_an_error() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.agent(&[]).stdin_end_grace(SOON);
    let said = scene.said(agent, "say x\nclose-stdout").await;
    assert_eq!(ended(&said), (&StopReason::Error, "x".into()));
    assert!(said.diagnostic().unwrap().contains("closed its output, but lives on"), "{said:?}");
}

#[tokio::test]
async fn an_agent_that_closes_its_input_can_still_be_cancelled() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]).stdin_end_grace(SOON).cancel_limit(SOON));
    let run = scene.start(&agent, "say x\nclose-stdin").await;
    patiently(run.updates().next()).await.unwrap().unwrap();
    run.cancel("enough");
    let said = patiently(run.collect()).await.into_result().unwrap();
    assert_eq!(ended(&said), (&StopReason::Aborted, "x".into()));
}

#[tokio::test]
async fn an_agent_whose_wrapper_died_is_noticed_and_goes_too() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.agent(&["wrapper", "ignore-eof"]).stdin_end_grace(SOON).terminate_grace(SOON);
    let said = scene.said(agent, "say x\nkill-wrapper").await;
    assert_eq!(ended(&said), (&StopReason::Error, "x".into()));
    assert!(said.diagnostic().unwrap().contains("signal 9"), "{said:?}");
    scene.assert_nothing_left();
}

/// In processes of their own, whose memory is theirs alone.
#[tokio::test]
async fn a_line_without_end_and_a_flood_leave_memory_flat() {
    for test in ["framing::parent_of_a_line_without_end", "framing::parent_of_a_flood"] {
        let Some(scene) = Scene::new() else { return };
        let output = patiently(rerun(test, &scene).output()).await.unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
    }
}

/// Does nothing unless the test above runs it.
#[tokio::test]
async fn parent_of_a_line_without_end() {
    let Some(directory) = rerun_in() else { return };
    let scene = std::mem::ManuallyDrop::new(Scene::at(directory, Subagents::new()));
    warm_up(&scene).await;
    let before = peak_memory();
    let error = scene.refused(scene.agent(&["long-line=300000000"])).await;
    assert!(error.to_string().contains("a line of more than 67108864 bytes"), "{error}");
    assert_below(before, 70 << 10);
}

/// Does nothing unless the test above runs it.
#[tokio::test]
async fn parent_of_a_flood() {
    let Some(directory) = rerun_in() else { return };
    let scene = std::mem::ManuallyDrop::new(Scene::at(directory, Subagents::new()));
    warm_up(&scene).await;
    let agent = scene.register(scene.agent(&[]));
    let before = peak_memory();
    // Nobody listens to 60 MB.
    let said = scene.result(&agent, "flood-of-kinds 60000\nsay on").await;
    assert_eq!(ended(&said), (&StopReason::Completed, "on".into()));
    assert_below(before, 12 << 10);
}

/// Has the program itself in memory, however large its features make it: what comes then is the child's.
async fn warm_up(scene: &Scene) {
    {
        let agent = scene.register(scene.agent(&[]));
        scene.result(&agent, "say on").await;
    }
    scene.refused(scene.agent(&["long-line=200000"]).longest_line(1 << 16)).await;
}

#[track_caller]
fn assert_below(before: usize, limit: usize) {
    let more = peak_memory() - before;
    assert!(more < limit, "{more} KiB more");
}

/// The most memory that this process ever had, in KiB.
fn peak_memory() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
