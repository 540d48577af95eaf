//! Asks a forwarding wrapper for a capability that the provider inside it lacks.
//! expect: E0277
//! headline: provider `Metered<OneShot>` does not support the start-time capability `DepthLimit`
//! note: a wrapper that forwards supports what the provider inside it does

use acme_agents::{Metered, OneShot};
use subagent::{Collected, NoOutput, ProviderHandle, Request, StartError};

pub async fn delegate(
    provider: &ProviderHandle<Metered<OneShot>>,
) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Tidy up").max_depth(2)).await?;
    Ok(run.collect().await)
}

fn main() {}
