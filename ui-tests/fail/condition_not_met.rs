//! Asks for a capability that the provider has on a condition, which does not hold.
//! expect: E0277
//! headline: provider `Thinker<Reader>` does not support the start-time capability `ToolFilter`
//! note: start this request on a provider that supports `ToolFilter`

use acme_agents::{Reader, Thinker};
use subagent::{Collected, NoOutput, ProviderHandle, Request, StartError, ToolFilter};

pub async fn delegate(provider: &ProviderHandle<Thinker<Reader>>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Think").tool_filter(ToolFilter::deny(["write"]))).await?;
    Ok(run.collect().await)
}

fn main() {}
