//! Drops the handle of a run that was just started.
//! expect: unused_must_use
//! headline: unused `subagent::Live` that must be used
//! note: dropping a `Live` cancels the run; `collect` or `dispose` it

#![deny(unused_must_use)]

use acme_agents::OneShot;
use subagent::{ProviderHandle, Request, StartError};

pub async fn delegate(provider: &ProviderHandle<OneShot>) -> Result<(), StartError> {
    provider.start(Request::new("Tidy up")).await?;
    Ok(())
}

fn main() {}
