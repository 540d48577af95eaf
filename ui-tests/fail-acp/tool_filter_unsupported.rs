//! Filters the tools of a child that is another program.
//! expect: E0277
//! headline: provider `Acp` does not support the start-time capability `ToolFilter`
//! note: start this request on a provider that supports `ToolFilter`, or leave it out of the request

use subagent::acp::Acp;
use subagent::{Collected, NoOutput, ProviderHandle, Request, StartError, ToolFilter};

pub async fn delegate(provider: &ProviderHandle<Acp>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Tidy up").tool_filter(ToolFilter::deny(["write"]))).await?;
    Ok(run.collect().await)
}

fn main() {}
