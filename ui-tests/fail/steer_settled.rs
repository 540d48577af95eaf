//! Steers a run that has settled.
//! expect: E0277
//! headline: a settled `ChatRun` cannot be steered: resume it first
//! note: `resume` gives a live run back, which takes messages

use acme_agents::ChatRun;
use subagent::{NoOutput, Settled, SteerError};

pub async fn hurry(run: &Settled<ChatRun, NoOutput>) -> Result<(), SteerError> {
    run.send_message("Be quick").await
}

fn main() {}
