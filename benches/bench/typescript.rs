//! The published TypeScript seam with a provider that settles at once, in CPU time, where node is there.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;
use subagent::Subscription;
use subagent_benches::one_task::{registered, typed};

use crate::measure::{Spread, current_thread};
use crate::table::{Bar, Table};

const RUNS: u32 = 50_000;

pub fn measure(table: &mut Table) {
    let answer =
        Command::new("bash").args(["benches/typescript/run", "20000", "5"]).stderr(Stdio::inherit()).output();
    let measured = answer.ok().filter(|answer| answer.status.success());
    let Some(measured) = measured.and_then(|answer| serde_json::from_slice::<Value>(&answer.stdout).ok())
    else {
        table.skipped(
            "CPU time of a run against the TypeScript seam",
            "node, npm or the package is not to be had",
        );
        return;
    };
    for result in measured["results"].as_array().into_iter().flatten() {
        let (Some(listeners), Some(theirs)) = (result["listeners"].as_u64(), result["cpu_us"].as_f64())
        else {
            continue;
        };
        let what = format!("CPU time of a typed run, {listeners} listeners, less than the TypeScript seam's");
        match (0..5).map(|_| cpu_micros(listeners)).collect::<Option<Vec<_>>>() {
            Some(ours) => {
                table.values(&what, Spread::of(ours).median, theirs, "µs", Some(Bar::AtLeast(15.0)));
            }
            None => table.skipped(&what, "this system does not tell a thread's CPU time"),
        }
    }
}

fn cpu_micros(listeners: u64) -> Option<f64> {
    let (subagents, handle) = registered();
    let subscriptions: Vec<Subscription> = (0..listeners).map(|_| subagents.subscribe(|_| ())).collect();
    let runtime = current_thread();
    let runs = async move {
        for _ in 0..RUNS {
            typed(&handle).await;
        }
    };
    let before = cpu_nanos()?;
    runtime.block_on(async { tokio::spawn(runs).await.expect("it ends") });
    let used = cpu_nanos()? - before;
    drop(subscriptions);
    Some(used / 1000.0 / f64::from(RUNS))
}

/// What the kernel says this thread has used so far.
fn cpu_nanos() -> Option<f64> {
    fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}
