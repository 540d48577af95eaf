//! Implements `Steerable` for a run that says it cannot be steered.
//! expect: E0271
//! headline: type mismatch resolving `<DroneRun as Run>::Steer == Present`
//! note: expected this to be `Present`

use subagent::{ContentBlock, DisposeError, Run, SteerError, Steerable};

pub struct DroneRun;

impl Run for DroneRun {
    subagent::not_steerable!();
    subagent::not_resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        Ok(())
    }
}

impl Steerable for DroneRun {
    async fn send_message(&self, _content: Vec<ContentBlock>) -> Result<(), SteerError> {
        Ok(())
    }
}

fn main() {}
