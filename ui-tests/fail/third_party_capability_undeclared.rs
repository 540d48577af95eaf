//! Asks for the capability of another crate on a provider that does not declare it.
//! expect: E0277
//! headline: provider `Chat` does not support the start-time capability `GpuQuota`
//! note: start this request on a provider that supports `GpuQuota`

use acme_agents::{Chat, GpuQuota};
use subagent::{Collected, NoOutput, ProviderHandle, Request, StartError};

pub async fn delegate(provider: &ProviderHandle<Chat>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Render it").with::<GpuQuota>(30)).await?;
    Ok(run.collect().await)
}

fn main() {}
