//! Resumes a run that is live.
//! expect: E0277
//! headline: a live `ChatRun` cannot be resumed: let it settle first
//! note: `settle` waits for the run's end and gives a settled run back

use acme_agents::ChatRun;
use subagent::{Live, NoOutput};

pub async fn go_on(run: Live<ChatRun, NoOutput>) -> Option<Live<ChatRun, NoOutput>> {
    run.resume("And now fix it").await.ok()
}

fn main() {}
