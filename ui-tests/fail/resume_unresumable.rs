//! Resumes a run that cannot be resumed.
//! expect: E0277
//! headline: run `OneShotRun` cannot be resumed
//! note: start the work on a provider whose runs implement `Resumable`, or start a new run

use acme_agents::OneShotRun;
use subagent::{Live, NoOutput, Settled};

pub async fn go_on(run: Settled<OneShotRun, NoOutput>) -> Option<Live<OneShotRun, NoOutput>> {
    run.resume("And now fix it").await.ok()
}

fn main() {}
