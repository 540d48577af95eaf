//! Steers runs of programs: of a provider that demands it, and of one that asks each run.

use subagent::acp::{Acp, AcpRun};
use subagent::{Live, NoOutput, Present, ProviderHandle, Request, Subagents};

pub async fn demanded(subagents: &Subagents) -> Result<(), Box<dyn std::error::Error>> {
    let agent = Acp::builder("agent").steering().working_dir("/srv/project").build()?;
    let agent = subagents.register("agent", agent)?;
    let run: Live<AcpRun<Present>, NoOutput> = agent.start(Request::new("Count the lines")).await?;
    run.send_message("Be quick").await?;
    Ok(run.dispose().await?)
}

pub async fn asked(agent: &ProviderHandle<Acp>) -> Result<(), Box<dyn std::error::Error>> {
    match agent.start(Request::new("Count the lines")).await?.into_steerable() {
        Ok(run) => {
            run.send_message("Be quick").await?;
            Ok(run.dispose().await?)
        }
        Err(run) => Ok(run.dispose().await?),
    }
}

fn main() {}
