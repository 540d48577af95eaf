//! Offers a model messages to children that cannot be steered.
//! expect: E0277
//! headline: a toolset with `send_message` cannot be built: run `OneShotRun` cannot be steered
//! note: leave `send_message()` out, or delegate to a provider whose runs implement `Steerable`

use acme_agents::OneShot;
use subagent::ProviderHandle;
use subagent::delegation::{DelegationTools, SubagentTool};

pub fn tools(provider: &ProviderHandle<OneShot>) -> DelegationTools {
    SubagentTool::builder(provider).in_background().send_message().build()
}

fn main() {}
