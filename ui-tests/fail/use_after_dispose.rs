//! Uses a handle after `dispose` took it.
//! expect: E0382
//! headline: borrow of moved value: `run`
//! note: `subagent::Settled::<R, O>::dispose` takes ownership of the receiver `self`, which moves `run`

use acme_agents::ChatRun;
use subagent::{DisposeError, NoOutput, Settled};

pub async fn end(run: Settled<ChatRun, NoOutput>) -> Result<String, DisposeError> {
    run.dispose().await?;
    Ok(run.result().map_or_else(|fault| fault.to_string(), |result| result.text().into_owned()))
}

fn main() {}
