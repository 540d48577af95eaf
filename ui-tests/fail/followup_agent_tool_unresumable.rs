//! Offers a model follow-ups of children that cannot be resumed.
//! expect: E0277
//! headline: a toolset with `followup_agent` cannot be built: run `OneShotRun` cannot be resumed
//! note: leave `followup_agent()` out, or delegate to a provider whose runs implement `Resumable`

use acme_agents::OneShot;
use subagent::ProviderHandle;
use subagent::delegation::{DelegationTools, SubagentTool};

pub fn tools(provider: &ProviderHandle<OneShot>) -> DelegationTools {
    SubagentTool::builder(provider).in_background().followup_agent().build()
}

fn main() {}
