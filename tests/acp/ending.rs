use std::time::{Duration, Instant};

use subagent::acp::{AcpBuilder, AcpRun};
use subagent::{Live, NoOutput, StopReason, Subagents};

use super::scene::{PATIENCE, SOON, Scene, ended, patiently, rerun, rerun_in};

/// Collects a run that says one thing, and says how long the disposal took.
async fn disposed(scene: &Scene, agent: AcpBuilder) -> Duration {
    let agent = scene.register(agent);
    let settled = scene.start(&agent, "say x").await.settle().await;
    assert_eq!(ended(settled.result().unwrap()), (&StopReason::Completed, "x".into()));
    let began = Instant::now();
    patiently(settled.dispose()).await.unwrap();
    scene.assert_nothing_left();
    began.elapsed()
}

#[tokio::test]
async fn an_agent_that_flushes_at_the_end_of_stdin_is_let_finish() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.agent(&["flush=0.7:{}/flushed", "exit-on-term={}/terminated"]);
    disposed(&scene, agent.stdin_end_grace(PATIENCE).terminate_grace(Duration::from_millis(100))).await;
    assert!(scene.exists("flushed") && !scene.exists("terminated"));
}

#[tokio::test]
async fn a_flush_is_not_cut_short_by_the_limit_of_a_cancelled_turn() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.agent(&["flush=1.2:{}/flushed"]).stdin_end_grace(PATIENCE).cancel_limit(SOON * 3);
    let agent = scene.register(agent);
    let run = scene.start(&agent, "say x\nhang").await;
    patiently(run.dispose()).await.unwrap();
    assert!(scene.exists("flushed"));
}

#[tokio::test]
async fn an_agent_that_ignores_the_end_of_stdin_is_asked_to_end() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.agent(&["ignore-eof", "exit-on-term={}/terminated"]);
    disposed(&scene, agent.stdin_end_grace(SOON).terminate_grace(PATIENCE)).await;
    assert!(scene.exists("terminated"));
}

#[tokio::test]
async fn an_agent_that_survives_everything_else_is_killed() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.agent(&["ignore-eof", "trap-term={}/terminated"]);
    let took = disposed(&scene, agent.stdin_end_grace(SOON).terminate_grace(SOON)).await;
    assert!(scene.exists("terminated") && took >= SOON * 2, "{took:?}");
}

#[tokio::test]
async fn what_an_agent_started_goes_with_it() {
    for option in [
        "grandchild={}/grandchild",
        "trapping-grandchild={}/grandchild",
        "leaving-grandchild={}/grandchild",
        "wrapper",
    ] {
        let Some(scene) = Scene::new() else { return };
        disposed(&scene, scene.agent(&[option, "ignore-eof"]).stdin_end_grace(SOON).terminate_grace(SOON))
            .await;
        assert!(option == "wrapper" || scene.exists("grandchild"), "{option}");
    }
}

#[tokio::test]
async fn the_session_is_closed_first_where_the_agent_offers_it() {
    let Some(scene) = Scene::new() else { return };
    disposed(&scene, scene.agent(&["able=close"])).await;
    assert!(scene.log().lines().last().unwrap().contains("session/close"));
}

#[tokio::test]
async fn a_dropped_handle_leaves_nothing() {
    let Some(scene) = Scene::new() else { return };
    let agent =
        scene.agent(&["ignore-eof", "trap-term={}/terminated"]).stdin_end_grace(SOON).terminate_grace(SOON);
    let agent = scene.register(agent);
    drop(scene.start(&agent, "say x\nhang").await);
    patiently(scene.subagents.shutdown()).await;
    scene.assert_nothing_left();
    assert_eq!(scene.lifecycle(), ["started", "aborted"]);
}

#[tokio::test]
async fn shutting_down_leaves_nothing() {
    let Some(scene) = Scene::with(Subagents::builder().cancel_grace(SOON).build()) else { return };
    let agent = scene.register(
        scene.agent(&["trapping-grandchild={}/grandchild"]).stdin_end_grace(SOON).terminate_grace(SOON),
    );
    let runs = [scene.start(&agent, "hang").await, scene.start(&agent, "wait-cancel").await];
    patiently(scene.subagents.shutdown()).await;
    for run in runs {
        assert_eq!(patiently(run.collect()).await.into_result().unwrap().stop_reason(), &StopReason::Aborted);
    }
    scene.assert_nothing_left();
}

#[test]
fn a_handle_that_outlives_its_runtime_still_takes_its_agent_along() {
    let Some(scene) = Scene::new() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let agent =
        scene.register(scene.agent(&["ignore-eof", "trap-term={}/terminated", "grandchild={}/grandchild"]));
    let run = runtime.block_on(scene.start(&agent, "say x\nhang"));
    drop(runtime);
    drop(run);
    let deadline = Instant::now() + PATIENCE;
    while !scene.left().is_empty() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    scene.assert_nothing_left();
    assert!(!scene.exists("terminated"), "nobody was there to wait");
    assert_eq!(scene.lifecycle(), ["started", "aborted"]);
}

#[tokio::test]
async fn a_panicking_parent_leaves_nothing() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&["ignore-eof"]).stdin_end_grace(SOON));
    let run = scene.start(&agent, "say x\nhang").await;
    let parent = tokio::spawn(async move {
        let _run: Live<AcpRun, NoOutput> = run;
        panic!("the parent has a bug");
    });
    assert!(parent.await.unwrap_err().is_panic());
    patiently(scene.subagents.shutdown()).await;
    scene.assert_nothing_left();
}

/// An owner that ends without a word, or whose terminal is closed: this test's own binary, run again as the owner.
#[tokio::test]
async fn an_owner_that_is_ended_by_a_signal_takes_its_agents_along() {
    futures::future::join_all(["KILL", "HUP", "INT"].map(async |signal| {
        let Some(scene) = Scene::new() else { return };
        let mut owner = rerun("ending::owner_of_an_agent", &scene).spawn().unwrap();
        scene.appears("ready").await;
        let id = owner.id().unwrap().to_string();
        let sent = tokio::process::Command::new("kill").args(["-s", signal, &id]).status().await.unwrap();
        assert!(sent.success());
        assert!(!patiently(owner.wait()).await.unwrap().success());
        scene.gone().await;
        assert!(scene.exists("terminated"), "it was asked first");
    }))
    .await;
}

/// Does nothing unless the test above runs it as the owner.
#[tokio::test]
async fn owner_of_an_agent() {
    let Some(directory) = rerun_in() else { return };
    let scene = std::mem::ManuallyDrop::new(Scene::at(directory, Subagents::new()));
    let options = ["ignore-eof", "trap-term={}/terminated", "trapping-grandchild={}/grandchild"];
    let agent = scene.register(scene.agent(&options));
    let _run = scene.start(&agent, "say x\nhang").await;
    std::fs::write(scene.path("ready"), "").unwrap();
    std::future::pending::<()>().await;
}
