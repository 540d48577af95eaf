//! The mistake that the README shows.
//! expect: E0277
//! headline: provider `ScriptedProvider<Absent>` does not support the start-time capability `DepthLimit`
//! note: start this request on a provider that supports `DepthLimit`, or leave it out of the request

use subagent::{Absent, ProviderHandle, Request, testing::ScriptedProvider};

pub async fn ask(clerk: ProviderHandle<ScriptedProvider<Absent>>) {
    let run = clerk.start(Request::new("Count the files").max_depth(2)).await;
    drop(run);
}

fn main() {}
