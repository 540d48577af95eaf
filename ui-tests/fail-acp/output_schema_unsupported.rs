//! Asks for structured output of a child that is another program, which its provider does not serve.
//! expect: E0277
//! headline: provider `Acp` does not support the start-time capability `OutputSchema`
//! note: build the provider with `Acp::builder(…).structured()`

use subagent::acp::Acp;
use subagent::{Collected, ProviderHandle, Request, StartError, Typed};

pub async fn delegate(provider: &ProviderHandle<Acp>) -> Result<Collected<Typed<String>>, StartError> {
    let run = provider.start(Request::new("Tidy up").output::<String>()).await?;
    Ok(run.collect().await)
}

fn main() {}
