//! `Spawn` and `Fork` take every built-in capability at once, and their runs can be steered and resumed.

use std::num::NonZeroU32;

use subagent::testing::ScriptedModel;
use subagent::{
    Absent, AgentRun, CapabilitySet, Fork, Live, ProviderHandle, Request, Resumable, SatisfiedBy, Spawn,
    StartError, Steerable, Subagents, ToolFilter, Typed,
};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Report {
    lines: u32,
}

fn everything() -> Request<impl CapabilitySet<Output = Typed<Report>> + SatisfiedBy<Spawn> + SatisfiedBy<Fork>>
{
    let limit = NonZeroU32::MIN;
    Request::new("Count the lines")
        .output::<Report>()
        .max_depth(2)
        .tool_filter(ToolFilter::allow(["read"]))
        .persona("You count.")
        .model("small")
        .max_output_tokens(limit)
        .max_steps(limit)
}

async fn fresh(spawn: &ProviderHandle<Spawn>) -> Result<Live<AgentRun, Typed<Report>>, StartError> {
    spawn.start(everything()).await
}

async fn forked(fork: &ProviderHandle<Fork>) -> Result<u32, Box<dyn std::error::Error>> {
    let run = fork.start(everything()).await?;
    run.send_message("Skip empty ones").await?;
    let settled = run.settle().await;
    let settled = settled.resume("Count again").await?.settle().await;
    Ok(settled.structured()?.lines)
}

fn steered_and_resumed<R: Steerable + Resumable>() {}
fn resumed<R: Resumable>() {}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    steered_and_resumed::<AgentRun>();
    resumed::<AgentRun<Absent>>();
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(ScriptedModel::new()))?;
    let fork = subagents.register("fork", Fork::builder().without_steering().build())?;
    let plain: &ProviderHandle<Fork<Absent>> = &fork;
    let _ = (fresh(&spawn), plain.name());
    let _ = forked;
    Ok(())
}
