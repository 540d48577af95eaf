//! A generic function that takes any request which the provider satisfies.

use acme_agents::{Chat, Metered};
use subagent::{CapabilitySet, Collected, Provider, ProviderHandle, Request, SatisfiedBy, StartError};

pub async fn delegate<C: CapabilitySet + SatisfiedBy<Chat>>(
    provider: &ProviderHandle<Chat>,
    request: Request<C>,
) -> Result<Collected<C::Output>, StartError> {
    let run = provider.start(request).await?;
    Ok(run.collect().await)
}

pub async fn delegate_to_any<P: Provider, C: CapabilitySet + SatisfiedBy<Metered<P>>>(
    provider: &ProviderHandle<Metered<P>>,
    request: Request<C>,
) -> Result<Collected<C::Output>, StartError> {
    let run = provider.start(request).await?;
    Ok(run.collect().await)
}

fn main() {}
