//! Reads structured output from a result that has none.
//! expect: E0277
//! headline: this `SubagentResult` was not asked for structured output
//! note: ask for one before the start: `Request::new(..).output::<YourType>()`

use subagent::SubagentResult;

pub fn answer(result: &SubagentResult) -> Option<String> {
    result.structured().ok()
}

fn main() {}
