//! A generic function with the bound that the compiler suggests for `fail/generic_without_bound.rs`, word for word.

use subagent::{Collected, NoOutput, Provider, ProviderHandle, Request, StartError};

pub async fn delegate<P: Provider + subagent::Supports<subagent::DepthLimit>>(provider: &ProviderHandle<P>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Tidy up").max_depth(2)).await?;
    Ok(run.collect().await)
}

fn main() {}
