//! Two ways of doing the same, in turns, so that what the machine does meanwhile hits both.

use std::time::Instant;

use tokio::runtime::{Builder, Runtime};

/// The middle of the rounds, and how far the middle half of them reaches.
#[derive(Clone, Copy)]
pub struct Spread {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Spread {
    pub fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
        Self { median: at(2), low: at(1), high: at(3) }
    }
}

/// Ours and the reference, in nanoseconds for one of them, and their ratio round by round.
pub struct Compared {
    pub ours: Spread,
    pub reference: Spread,
    pub ratio: Spread,
}

/// Runs both in turns, `rounds` times after one that does not count. Each returns the nanoseconds of one.
pub fn in_turns(
    rounds: usize,
    mut ours: impl FnMut() -> f64,
    mut reference: impl FnMut() -> f64,
) -> Compared {
    let mut measured = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..=rounds {
        // Who goes first changes, too.
        let (ours, reference) = if round % 2 == 0 {
            let ours = ours();
            (ours, reference())
        } else {
            let reference = reference();
            (ours(), reference)
        };
        if round > 0 {
            measured.0.push(ours);
            measured.1.push(reference);
            measured.2.push(ours / reference);
        }
    }
    let (ours, reference, ratio) = measured;
    Compared { ours: Spread::of(ours), reference: Spread::of(reference), ratio: Spread::of(ratio) }
}

/// How long one of `count` takes, from inside a task of the runtime, as an agent would do it.
pub fn nanos_each<F>(runtime: &Runtime, count: u32, all: F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    runtime.block_on(async {
        tokio::spawn(async move {
            let began = Instant::now();
            all.await;
            began.elapsed().as_secs_f64() * 1e9 / f64::from(count)
        })
        .await
        .expect("a benchmark ends")
    })
}

pub fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

pub fn two_workers() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}
