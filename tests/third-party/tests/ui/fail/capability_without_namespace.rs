//! A crate declares and asks for a capability whose name a built-in one could have.

use acme_agents::OneShotRun;
use subagent::{Capability, Plain, Provider, Settlement, StartError, StartRequest};

pub struct Teleport;

impl Capability for Teleport {
    const NAME: &'static str = "persona";
    type Value = bool;
    type Kind = Plain;

    fn narrow(_earlier: bool, later: bool) -> bool {
        later
    }
}

pub struct Porter;

subagent::supports!(Porter: Teleport);

impl Provider for Porter {
    type Run = OneShotRun;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<OneShotRun, StartError> {
        acme_agents::OneShot.start(request, settlement).await
    }
}

fn main() {
    let _registration = subagent::Subagents::new().register("porter", Porter);
}
