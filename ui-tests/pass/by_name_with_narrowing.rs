//! A start by name: capabilities are checked before the child exists, and the run is narrowed before it is steered.

use acme_agents::{Chat, ChatRun, OneShot};
use subagent::{Request, StartError, Subagents};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let subagents = Subagents::new();
    let _chat = subagents.register("chat", Chat { waits_for: 1 })?;
    let _one_shot = subagents.register("one-shot", OneShot)?;

    let refused = subagents.start("one-shot", Request::new("one").max_depth(2)).await;
    assert!(matches!(refused, Err(StartError::UnsupportedCapability { .. })));

    let run = subagents.start("one-shot", Request::new("one")).await?;
    let run = run.into_steerable().expect_err("a `OneShotRun` cannot be steered");
    run.dispose().await?;

    let run = subagents.start("chat", Request::new("one").max_depth(2)).await?;
    let run = run.into_steerable().expect("a `ChatRun` can be steered");
    let run = run.into_resumable().expect("a `ChatRun` can be resumed");
    run.send_message("two").await?;
    let run = run.settle().await.resume("three").await?;
    let run = run.downcast::<ChatRun>().expect("it is a `ChatRun`");
    run.send_message("four").await?;
    assert_eq!(run.collect().await.into_result()?.text(), "[depth 2] one, two, three, four");
    Ok(())
}
