//! Configures a delegating tool's children with what their provider cannot keep.
//! expect: E0277
//! headline: provider `OneShot` does not support the start-time capability `Persona`
//! note: start this request on a provider that supports `Persona`, or leave it out of the request

use acme_agents::OneShot;
use subagent::ProviderHandle;
use subagent::delegation::SubagentTool;

pub fn tool(provider: &ProviderHandle<OneShot>) -> SubagentTool {
    SubagentTool::builder(provider).child(|request| request.persona("Be brief.")).build()
}

fn main() {}
