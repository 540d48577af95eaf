//! Limits the depth of a child that is another program.
//! expect: E0277
//! headline: provider `Acp` does not support the start-time capability `DepthLimit`
//! note: start this request on a provider that supports `DepthLimit`, or leave it out of the request

use subagent::acp::Acp;
use subagent::{Collected, NoOutput, ProviderHandle, Request, StartError};

pub async fn delegate(provider: &ProviderHandle<Acp>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Tidy up").max_depth(2)).await?;
    Ok(run.collect().await)
}

fn main() {}
