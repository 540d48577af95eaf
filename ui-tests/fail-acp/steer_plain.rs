//! Steers a run of another program that was not asked whether it can be steered.
//! expect: E0277
//! headline: run `AcpRun` cannot be steered
//! note: start the work on a provider whose runs implement `Steerable`, or say it all in the prompt

use subagent::acp::AcpRun;
use subagent::{Live, NoOutput, SteerError};

pub async fn hurry(run: &Live<AcpRun, NoOutput>) -> Result<(), SteerError> {
    run.send_message("Be quick").await
}

fn main() {}
