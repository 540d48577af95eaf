//! Says that a run can be steered without implementing `Steerable`.
//! expect: E0277
//! headline: `DroneRun` says `steerable!()`, but does not implement `Steerable`
//! note: write `impl subagent::Steerable for DroneRun`, or say `subagent::not_steerable!();`

use subagent::{DisposeError, Run};

pub struct DroneRun;

impl Run for DroneRun {
    subagent::steerable!();
    subagent::not_resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        Ok(())
    }
}

fn main() {}
