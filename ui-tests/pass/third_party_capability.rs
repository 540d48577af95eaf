//! A capability of another crate is asked for and checked like a built-in one.

use acme_agents::{Chat, GpuQuota, OnGpu, Renderer};
use subagent::{Request, Subagents};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let subagents = Subagents::new();
    let renderer = subagents.register("renderer", Renderer)?;
    let on_gpu = subagents.register("chat-on-gpu", OnGpu(Chat::default()))?;

    let request = Request::new("a teapot").with::<GpuQuota>(30).max_depth(2).with::<GpuQuota>(10);
    let run = renderer.start(request.clone()).await?;
    assert_eq!(
        run.collect().await.into_result()?.text(),
        "rendered a teapot within Some(10) GPU seconds, to depth Some(2)"
    );
    let run = on_gpu.start(request).await?;
    assert_eq!(run.collect().await.into_result()?.text(), "[depth 2] a teapot (on a GPU, 10 s)");
    Ok(())
}
