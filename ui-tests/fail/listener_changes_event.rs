//! Changes an event in a listener.
//! expect: E0594
//! headline: cannot assign to `ended.output`, which is behind a `&` reference

use subagent::{Event, Subagents, Subscription};

pub fn hide_output(subagents: &Subagents) -> Subscription {
    subagents.subscribe(|event| {
        if let Event::Ended(ended) = event {
            ended.output = None;
        }
    })
}

fn main() {}
