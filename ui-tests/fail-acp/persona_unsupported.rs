//! Gives a persona to a child that is another program.
//! expect: E0277
//! headline: provider `Acp` does not support the start-time capability `Persona`
//! note: start this request on a provider that supports `Persona`, or leave it out of the request

use subagent::acp::Acp;
use subagent::{Collected, NoOutput, ProviderHandle, Request, StartError};

pub async fn delegate(provider: &ProviderHandle<Acp>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Tidy up").persona("A patient reviewer")).await?;
    Ok(run.collect().await)
}

fn main() {}
