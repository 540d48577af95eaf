//! Asks for two capabilities of which the provider supports one.
//! expect: E0277
//! headline: provider `Renderer` does not support the start-time capability `Persona`
//! note: start this request on a provider that supports `Persona`

use acme_agents::Renderer;
use subagent::{Collected, NoOutput, ProviderHandle, Request, StartError};

pub async fn delegate(provider: &ProviderHandle<Renderer>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Render it").persona("A painter").max_depth(2)).await?;
    Ok(run.collect().await)
}

fn main() {}
