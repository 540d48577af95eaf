//! The seam over a child that is one task, against the bare task.

use subagent::Subscription;
use subagent_benches::one_task::{base, named, registered, typed};
use tokio::runtime::Runtime;

use crate::measure::{Compared, current_thread, in_turns, nanos_each, two_workers};
use crate::table::{Bar, Table};

const RUNS: u32 = 10_000;
const ROUNDS: usize = 15;

pub fn measure(table: &mut Table) {
    for (name, runtime) in [("current thread", current_thread()), ("two workers", two_workers())] {
        for listeners in [0, 1, 10] {
            let bars =
                if listeners == 0 { [1.5, 1.75].map(|most| Some(Bar::AtMost(most))) } else { [None; 2] };
            let what =
                |how| format!("a run {how}, {listeners} listeners, against spawn + oneshot + join, {name}");
            table.compared(&what("typed"), &over_base(&runtime, How::Typed, listeners), bars[0]);
            table.compared(&what("by name"), &over_base(&runtime, How::Named, listeners), bars[1]);
        }
        for listeners in [1, 10] {
            // A bar for each of them.
            let bar = Bar::AtMost(1.05f64.powi(listeners));
            let what = format!("a typed run with {listeners} listeners against one without, {name}");
            let count = usize::try_from(listeners).unwrap_or_default();
            table.compared(&what, &with_listeners(&runtime, count), Some(bar));
        }
    }
}

#[derive(Clone, Copy)]
enum How {
    Typed,
    Named,
}

fn over_base(runtime: &Runtime, how: How, listeners: usize) -> Compared {
    in_turns(ROUNDS, || runs(runtime, how, listeners), || base_runs(runtime))
}

fn with_listeners(runtime: &Runtime, listeners: usize) -> Compared {
    in_turns(ROUNDS, || runs(runtime, How::Typed, listeners), || runs(runtime, How::Typed, 0))
}

pub fn base_runs(runtime: &Runtime) -> f64 {
    nanos_each(runtime, RUNS, async {
        for _ in 0..RUNS {
            base().await;
        }
    })
}

fn runs(runtime: &Runtime, how: How, listeners: usize) -> f64 {
    let (subagents, handle) = registered();
    let subscriptions: Vec<Subscription> = (0..listeners).map(|_| subagents.subscribe(|_| ())).collect();
    let each = nanos_each(runtime, RUNS, async move {
        for _ in 0..RUNS {
            match how {
                How::Typed => typed(&handle).await,
                How::Named => named(&subagents).await,
            }
        }
    });
    drop(subscriptions);
    each
}

/// A typed run without listeners.
pub fn typed_runs(runtime: &Runtime) -> f64 {
    runs(runtime, How::Typed, 0)
}
