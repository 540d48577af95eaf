//! Forgets the bound of a generic function that starts on a wrapper.
//! expect: E0277
//! headline: provider `Metered<P>` does not support the start-time capability `DepthLimit`
//! note: a wrapper that forwards supports what the provider inside it does
//! note: consider introducing a `where` clause

use acme_agents::Metered;
use subagent::{Collected, NoOutput, Provider, ProviderHandle, Request, StartError};

pub async fn delegate<P: Provider>(
    provider: &ProviderHandle<Metered<P>>,
) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Tidy up").max_depth(2)).await?;
    Ok(run.collect().await)
}

fn main() {}
