//! Asks for structured output on a provider that does not support it.
//! expect: E0277
//! headline: provider `OneShot` does not support the start-time capability `OutputSchema`
//! note: start this request on a provider that supports `OutputSchema`, or leave it out of the request

use acme_agents::OneShot;
use subagent::{Collected, ProviderHandle, Request, StartError, Typed};

pub async fn delegate(provider: &ProviderHandle<OneShot>) -> Result<Collected<Typed<String>>, StartError> {
    let run = provider.start(Request::new("Tidy up").output::<String>()).await?;
    Ok(run.collect().await)
}

fn main() {}
