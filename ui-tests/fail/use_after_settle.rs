//! Uses a live handle after `settle` took it.
//! expect: E0382
//! headline: borrow of moved value: `run`
//! note: `subagent::Live::<R, O>::settle` takes ownership of the receiver `self`, which moves `run`

use acme_agents::ChatRun;
use subagent::{Live, NoOutput, Settled};

pub async fn settle(run: Live<ChatRun, NoOutput>) -> Settled<ChatRun, NoOutput> {
    let settled = run.settle().await;
    run.cancel("too slow");
    settled
}

fn main() {}
