//! A capability of this crate, on a provider that declares it.

use acme_agents::{GpuQuota, Renderer};
use subagent::{Collected, NoOutput, ProviderHandle, Request, StartError};

pub async fn delegate(provider: &ProviderHandle<Renderer>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("a teapot").with::<GpuQuota>(30)).await?;
    Ok(run.collect().await)
}

fn main() {}
