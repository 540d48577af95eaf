//! Limits the steps of a child on a provider that does not support it.
//! expect: E0277
//! headline: provider `OneShot` does not support the start-time capability `StepLimit`
//! note: start this request on a provider that supports `StepLimit`, or leave it out of the request

use std::num::NonZeroU32;

use acme_agents::OneShot;
use subagent::{Collected, NoOutput, ProviderHandle, Request, StartError};

pub async fn delegate(provider: &ProviderHandle<OneShot>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Tidy up").max_steps(NonZeroU32::MIN)).await?;
    Ok(run.collect().await)
}

fn main() {}
