//! Starts a request that is checked at run time on a typed handle.
//! expect: E0277
//! headline: a `Request<Unchecked>` cannot start on the typed handle of `Chat`
//! note: a request that is checked at run time, `Request<Unchecked>`, starts by name, with `Subagents::start`, or gets its types back with `try_into_typed`

use acme_agents::Chat;
use subagent::{Collected, ProviderHandle, Request, StartError, Typed, Unchecked};

pub async fn delegate(
    provider: &ProviderHandle<Chat>,
    request: Request<Unchecked>,
) -> Result<Collected<Typed<serde_json::Value>>, StartError> {
    let run = provider.start(request).await?;
    Ok(run.collect().await)
}

fn main() {}
