//! Implements `Resumable` for a run that says it cannot be resumed.
//! expect: E0271
//! headline: type mismatch resolving `<DroneRun as Run>::Resume == Present`
//! note: expected this to be `Present`

use subagent::{ContentBlock, DisposeError, Resumable, ResumeError, Run, Settlement};

pub struct DroneRun;

impl Run for DroneRun {
    subagent::not_steerable!();
    subagent::not_resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        Ok(())
    }
}

impl Resumable for DroneRun {
    async fn resume(&self, _content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        settlement.complete("done");
        Ok(())
    }
}

fn main() {}
