//! A crate claims a capability of its own for a provider that is not its own, and that never heard of it.

use acme_agents::OneShot;
use subagent::{Capability, Collected, NoOutput, Plain, ProviderHandle, Request, StartError, Supports};

pub struct Teleport;

impl Capability for Teleport {
    const NAME: &'static str = "mallory/teleport";
    type Value = bool;
    type Kind = Plain;

    fn narrow(_earlier: bool, later: bool) -> bool {
        later
    }
}

impl Supports<Teleport> for OneShot {}

pub async fn delegate(provider: &ProviderHandle<OneShot>) -> Result<Collected<NoOutput>, StartError> {
    let run = provider.start(Request::new("Go there").with::<Teleport>(true)).await?;
    Ok(run.collect().await)
}

fn main() {}
