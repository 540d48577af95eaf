//! Steers a run that was started by name, without narrowing it.
//! expect: E0277
//! headline: run `AnyRun` cannot be steered
//! note: an erased run is narrowed first, with `into_steerable()`

use subagent::{AnyRun, Live, NoOutput, SteerError};

pub async fn hurry(run: &Live<AnyRun, NoOutput>) -> Result<(), SteerError> {
    run.send_message("Be quick").await
}

fn main() {}
