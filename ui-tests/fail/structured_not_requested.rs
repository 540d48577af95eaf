//! Reads structured output of a run that was not asked for any.
//! expect: E0277
//! headline: this `ChatRun` was not asked for structured output
//! note: ask for one before the start: `Request::new(..).output::<YourType>()`

use acme_agents::ChatRun;
use subagent::{NoOutput, Settled};

pub fn answer(run: &Settled<ChatRun, NoOutput>) -> Option<String> {
    run.structured().ok()
}

fn main() {}
