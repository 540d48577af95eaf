//! Says that a run can be resumed without implementing `Resumable`.
//! expect: E0277
//! headline: `DroneRun` says `resumable!()`, but does not implement `Resumable`
//! note: write `impl subagent::Resumable for DroneRun`, or say `subagent::not_resumable!();`

use subagent::{DisposeError, Run};

pub struct DroneRun;

impl Run for DroneRun {
    subagent::not_steerable!();
    subagent::resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        Ok(())
    }
}

fn main() {}
