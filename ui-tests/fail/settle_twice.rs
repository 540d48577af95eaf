//! Settles a run twice.
//! expect: E0382
//! headline: use of moved value: `settlement`

use subagent::{Outcome, Settlement};

pub fn end(settlement: Settlement, answer: Option<String>) {
    if let Some(answer) = answer {
        settlement.settle(Outcome::completed(answer));
    }
    settlement.settle(Outcome::error("no answer"));
}

fn main() {}
