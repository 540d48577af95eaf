//! Walks one core path that many times, for callgrind: `core-paths base|typed|named|request|id TIMES`.

use std::hint::black_box;

use subagent::{Request, RunId};
use subagent_benches::one_task::{base, named, registered, typed};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("which path");
    let times: u32 = arguments.next().and_then(|times| times.parse().ok()).expect("how many times");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let walk = async move {
        let (subagents, handle) = registered();
        for _ in 0..times {
            match path.as_str() {
                "base" => base().await,
                "typed" => typed(&handle).await,
                "named" => named(&subagents).await,
                "request" => drop(black_box(Request::new("x"))),
                "id" => drop(black_box(RunId::new())),
                _ => panic!("no path is called {path}"),
            }
        }
    };
    // From inside a task, as an agent would.
    runtime.block_on(async { tokio::spawn(walk).await.expect("it walks to its end") });
}
