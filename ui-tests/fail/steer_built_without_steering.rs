//! Steers a run of a provider that was built without steering.
//! expect: E0277
//! headline: run `AgentRun<Absent>` cannot be steered
//! note: start the work on a provider whose runs implement `Steerable`, or say it all in the prompt

use subagent::testing::ScriptedModel;
use subagent::{Absent, Request, Spawn, StartError, SubagentResult, Subagents};

pub async fn hurry(subagents: &Subagents) -> Result<SubagentResult, Box<dyn std::error::Error>> {
    let spawn: Spawn<Absent> =
        Spawn::builder().default_model(ScriptedModel::new()).without_steering().build();
    let spawn = subagents.register("spawn", spawn)?;
    let run = spawn.start(Request::new("Count the lines")).await.map_err(|error: StartError| error)?;
    run.send_message("Be quick").await?;
    Ok(run.collect().await.into_result()?)
}

fn main() {}
