//! Chooses the model of a child on a provider that does not support it.
//! expect: E0277
//! headline: provider `OneShot` does not support the start-time capability `ModelChoice`
//! note: start this request on a provider that supports `ModelChoice`, or leave it out of the request

use acme_agents::OneShot;
use subagent::{Collected, NoOutput, ProviderHandle, Request, StartError};

pub async fn delegate(provider: &ProviderHandle<OneShot>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Tidy up").model("small")).await?;
    Ok(run.collect().await)
}

fn main() {}
