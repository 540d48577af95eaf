//! Forgets the bound of a generic function.
//! expect: E0277
//! headline: provider `P` does not support the start-time capability `DepthLimit`
//! note: consider further restricting type parameter `P` with trait `Supports`

use subagent::{Collected, NoOutput, Provider, ProviderHandle, Request, StartError};

pub async fn delegate<P: Provider>(provider: &ProviderHandle<P>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Tidy up").max_depth(2)).await?;
    Ok(run.collect().await)
}

fn main() {}
