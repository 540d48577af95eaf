//! Drops the registration of a provider.
//! expect: unused_must_use
//! headline: unused `Registration` that must be used
//! note: keep it, or call `leave_registered`

#![deny(unused_must_use)]

use acme_agents::OneShot;
use subagent::{RegisterError, Subagents};

pub fn set_up(subagents: &Subagents) -> Result<(), RegisterError> {
    subagents.register("one-shot", OneShot)?;
    Ok(())
}

fn main() {}
