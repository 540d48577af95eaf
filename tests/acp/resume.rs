use std::time::Duration;

use futures::StreamExt as _;
use subagent::{FollowUp, StopReason, Subagents};
use tokio_util::sync::CancellationToken;

use super::scene::{SOON, Scene, ended, patiently};

#[tokio::test]
async fn a_follow_up_is_a_further_prompt_in_the_same_session_and_process() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let first = scene.start(&agent, "say one\nlate leaked").await.settle().await;
    let (id, session) = (first.id(), first.run().session_id());
    let second = first.resume("say two").await.unwrap().settle().await;
    assert_eq!(ended(second.result().unwrap()), (&StopReason::Completed, "two".into()));
    assert_eq!((second.resumed_from(), second.run().session_id()), (Some(id), session));
    patiently(second.dispose()).await.unwrap();
    assert_eq!(scene.started(), 1);
    assert_eq!(scene.lifecycle(), ["started", "completed", "started", "completed"]);
}

#[tokio::test]
async fn a_process_that_is_gone_is_replaced_by_a_fresh_one_with_the_same_session() {
    for options in [&["able=resume,list"][..], &["able=load", "replay=the past", "late-replay=more of it"]] {
        let Some(scene) = Scene::new() else { return };
        let agent = scene.register(scene.agent(options));
        let died = scene.start(&agent, "say x\ngrandchild {}/grandchild\nkill 9").await.settle().await;
        assert!(died.result().unwrap().diagnostic().unwrap().contains("signal 9"));
        let again = patiently(died.resume("say back")).await.unwrap();
        let said = patiently(again.collect()).await.into_result().unwrap();
        assert_eq!(ended(&said), (&StopReason::Completed, "back".into()), "{options:?}");
        assert_eq!(scene.started(), 2);
        assert_eq!(scene.log().matches("session/new").count(), 1);
    }
}

#[tokio::test]
async fn where_nothing_can_be_opened_again_the_run_stays_settled_and_no_process_is_started() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&[]));
    let died = scene.start(&agent, "say x\nexit 1").await.settle().await;
    let (error, settled) = patiently(died.resume("say back")).await.unwrap_err().into_parts();
    assert_eq!(error.code(), "RESUME_FAILED");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("session/resume"), "{source}");
    assert_eq!(settled.result().unwrap().text(), "x");
    patiently(settled.dispose()).await.unwrap();
    assert_eq!(scene.started(), 1);
}

#[tokio::test]
async fn an_agent_that_accepts_a_session_it_does_not_know_is_not_trusted() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&["able=resume,list", "unlisted"]));
    let died = scene.start(&agent, "say x\nexit 1").await.settle().await;
    let (error, settled) = patiently(died.resume("say back")).await.unwrap_err().into_parts();
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("does not know"));
    patiently(settled.dispose()).await.unwrap();
}

#[tokio::test]
async fn a_run_that_ignored_its_cancel_is_resumed_in_a_fresh_process() {
    let subagents = Subagents::builder().cancel_grace(Duration::from_millis(50)).build();
    let Some(scene) = Scene::with(subagents) else { return };
    let agent = scene.register(scene.agent(&["able=resume"]).cancel_limit(SOON));
    let run = scene.start(&agent, "say x\nhang").await;
    patiently(run.updates().next()).await.unwrap().unwrap();
    run.cancel("enough");
    let settled = patiently(run.settle()).await;
    let again = patiently(settled.resume("say back")).await.unwrap();
    let said = patiently(again.collect()).await.into_result().unwrap();
    assert_eq!(ended(&said), (&StopReason::Completed, "back".into()));
    assert_eq!(scene.started(), 2);
}

#[tokio::test]
async fn an_agent_that_answers_one_turn_late_is_asked_again() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&["able=resume", "stale"]));
    let run = scene.start(&agent, "say x\nwait-cancel").await;
    patiently(run.updates().next()).await.unwrap().unwrap();
    run.cancel("enough");
    let again = patiently(run.settle().await.resume("say the answer")).await.unwrap();
    let said = patiently(again.collect()).await.into_result().unwrap();
    assert_eq!(ended(&said), (&StopReason::Completed, "the answer".into()));
}

#[tokio::test]
async fn a_follow_up_that_is_cancelled_while_the_session_opens_again_leaves_no_process() {
    let Some(scene) = Scene::new() else { return };
    let agent = scene.register(scene.agent(&["able=resume", "silent-on=session/resume"]));
    let died = scene.start(&agent, "say x\nexit 1").await.settle().await;
    let token = CancellationToken::new();
    let cancel = async {
        scene.heard("session/resume").await;
        token.cancel();
    };
    let resuming = died.resume(FollowUp::new("say back").cancellation(token.clone()));
    let (resumed, ()) = patiently(async { tokio::join!(resuming, cancel) }).await;
    let (error, settled) = resumed.unwrap_err().into_parts();
    assert_eq!(error.code(), "CANCELLED");
    scene.gone().await;
    patiently(settled.dispose()).await.unwrap();
}
