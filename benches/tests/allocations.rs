//! How many allocations a run costs over the bare task that it is: what the design allows, and nothing creeps in.

use std::future::Future;
use std::hint::black_box;

use subagent::Request;
use subagent_benches::counting::{self, Counting};
use subagent_benches::one_task::{base, named, registered, typed};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const RUNS: u32 = 100;

// One test: the count is the whole process's.
#[test]
fn a_run_allocates_at_most_four_times_more_than_its_task_and_five_by_name() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (subagents, handle) = registered();
        let base = per_run(base).await;
        let request = per_run(|| async { drop(black_box(Request::new("x"))) }).await;
        let typed = per_run(|| typed(&handle)).await - request - base;
        let named = per_run(|| named(&subagents)).await - request - base;
        println!("base {base}, request {request}; over them: typed {typed}, by name {named}");
        assert!((typed - 3.0).abs() < 0.5, "typed: {typed} allocations more than its task, and not 3");
        assert!((named - 4.0).abs() < 0.5, "by name: {named} allocations more than its task, and not 4");
    });
}

async fn per_run<F: Future<Output = ()>>(run: impl Fn() -> F) -> f64 {
    for _ in 0..RUNS {
        run().await;
    }
    let before = counting::allocations();
    counting::start();
    for _ in 0..RUNS {
        run().await;
    }
    counting::stop();
    f64::from(u32::try_from(counting::allocations() - before).unwrap()) / f64::from(RUNS)
}
