//! Forgets to bound the request of a generic function.
//! expect: E0277
//! headline: a `Request<C>` cannot start on the typed handle of `Chat`
//! note: consider further restricting type parameter `C` with trait `SatisfiedBy`

use acme_agents::Chat;
use subagent::{CapabilitySet, Collected, ProviderHandle, Request, StartError};

pub async fn delegate<C: CapabilitySet>(
    provider: &ProviderHandle<Chat>,
    request: Request<C>,
) -> Result<Collected<C::Output>, StartError> {
    let run = provider.start(request).await?;
    Ok(run.collect().await)
}

fn main() {}
