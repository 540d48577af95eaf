//! Writes a provider that does not say what it supports.
//! expect: E0277
//! headline: `Drone` does not say which start-time capabilities it supports
//! note: subagent::supports!(Drone:

use acme_agents::OneShotRun;
use subagent::{Provider, Settlement, StartError, StartRequest};

pub struct Drone;

impl Provider for Drone {
    type Run = OneShotRun;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<OneShotRun, StartError> {
        settlement.complete(request.prompt_text());
        Ok(OneShotRun)
    }
}

fn main() {}
