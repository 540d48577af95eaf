//! Steers a run that cannot be steered.
//! expect: E0277
//! headline: run `OneShotRun` cannot be steered
//! note: start the work on a provider whose runs implement `Steerable`, or say it all in the prompt

use acme_agents::OneShotRun;
use subagent::{Live, NoOutput, SteerError};

pub async fn hurry(run: &Live<OneShotRun, NoOutput>) -> Result<(), SteerError> {
    run.send_message("Be quick").await
}

fn main() {}
