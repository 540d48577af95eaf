//! A forwarding wrapper supports what the provider inside it does, and its runs can do what the runs inside can.

use std::sync::Arc;

use acme_agents::{Chat, GpuQuota, Metered, OneShot, Renderer};
use subagent::{Request, Subagents};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let subagents = Subagents::new();
    let chat = subagents.register("chat", Arc::new(Metered::new(Chat { waits_for: 1 })))?;
    let renderer = subagents.register("renderer", Metered::new(Renderer))?;
    let one_shot = subagents.register("one-shot", Metered::new(OneShot))?;

    let run = chat.start(Request::new("one").max_depth(2).output::<String>()).await?;
    run.send_message("two").await?;
    let settled = run.settle().await;
    assert_eq!(settled.structured()?, "[depth 2] one, two");
    settled.dispose().await?;
    assert_eq!(chat.provider().asked(), 2);

    renderer.start(Request::new("a teapot").with::<GpuQuota>(30)).await?.dispose().await?;
    one_shot.start(Request::new("one")).await?.dispose().await?;
    Ok(())
}
