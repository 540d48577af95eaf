//! What children keep, by a counting allocator.

use std::time::Instant;

use subagent::agent::{MessageOrigin, SessionEventKind, SessionHeader, SessionWriter, UserMessage};
use subagent::{Request, SessionId, Spawn, Subagents};
use subagent_benches::counting;
use subagent_benches::one_task::{registered, typed};

use crate::in_process::{Idle, Ready, start_rate};
use crate::measure::current_thread;
use crate::table::{Bar, Table};

pub fn measure(table: &mut Table) {
    let few = idle_children(table, 1_000);
    let many = idle_children(table, 100_000);
    let bar = Some(Bar::AtMost(1.2));
    table.values(
        "time to start an idle child, the last 1,000 of 100,000 against 1,000 alone",
        many,
        few,
        "µs",
        bar,
    );
    settled_children(table);
    growth(table);
}

/// Starts so many children that wait for a model, and says how long the last thousand of them took to start.
fn idle_children(table: &mut Table, children: usize) -> f64 {
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(Idle)).expect("the name is free");
    let runtime = current_thread();
    let mut rate = 0.0;
    runtime.block_on(async {
        let mut runs = Vec::with_capacity(children);
        // One that does not count, for what is made once.
        let first = spawn.start(Request::new("x")).await.expect("it starts");
        tokio::task::yield_now().await;
        let before = counting::live_bytes();
        counting::start();
        for _ in 0..children / 1_000 {
            let began = Instant::now();
            for _ in 0..1_000 {
                runs.push(spawn.start(Request::new("x")).await.expect("it starts"));
            }
            // They come to their model call.
            tokio::task::yield_now().await;
            rate = start_rate(began, 1_000);
        }
        tokio::task::yield_now().await;
        counting::stop();
        let each = (counting::live_bytes() - before) as f64 / children as f64 - log_bytes();
        let what = format!("memory of a live idle in-process child beyond its log, with {children} of them");
        table.value(&what, each, "bytes", Some(Bar::AtMost(4096.0)));
        for run in runs.into_iter().chain([first]) {
            run.dispose().await.expect("it ends");
        }
    });
    rate
}

/// What the log of an idle child keeps: a turn and a step that have begun, and the prompt.
fn log_bytes() -> f64 {
    const LOGS: usize = 1_000;
    let mut logs = Vec::with_capacity(LOGS);
    let before = counting::live_bytes();
    counting::start();
    for _ in 0..LOGS {
        let mut log = SessionWriter::new(SessionHeader::new(SessionId::new()));
        let prompt = UserMessage::new(MessageOrigin::Prompt, vec!["x".into()]);
        for event in
            [SessionEventKind::TurnStart, SessionEventKind::User(prompt), SessionEventKind::StepStart]
        {
            log.append(event).expect("the turn is well-formed");
        }
        logs.push(log);
    }
    counting::stop();
    (counting::live_bytes() - before) as f64 / LOGS as f64
}

fn settled_children(table: &mut Table) {
    const CHILDREN: usize = 1_000;
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(Ready)).expect("the name is free");
    current_thread().block_on(async {
        let mut settled = Vec::with_capacity(CHILDREN);
        let first = spawn.start(Request::new("x")).await.expect("it starts").settle().await;
        let before = counting::live_bytes();
        counting::start();
        for _ in 0..CHILDREN {
            settled.push(spawn.start(Request::new("x")).await.expect("it starts").settle().await);
        }
        // Their tasks end.
        tokio::task::yield_now().await;
        counting::stop();
        let each = (counting::live_bytes() - before) as f64 / CHILDREN as f64;
        table.value(
            "memory of a settled child that can be resumed, its log and result included",
            each,
            "bytes",
            None,
        );
        for run in settled.into_iter().chain([first]) {
            run.dispose().await.expect("it ends");
        }
    });
}

/// 100,000 children started, settled and disposed of, again and again.
fn growth(table: &mut Table) {
    const CHILDREN: usize = 100_000;
    let (_subagents, one_task) = registered();
    let spawn_subagents = Subagents::new();
    let spawn = spawn_subagents.register("spawn", Spawn::new(Ready)).expect("the name is free");
    current_thread().block_on(async {
        counting::start();
        let mut after = Vec::new();
        for _ in 0..4 {
            for _ in 0..CHILDREN / 2 {
                typed(&one_task).await;
                let collected = spawn.start(Request::new("x")).await.expect("it starts").collect().await;
                assert!(collected.result.is_ok());
            }
            after.push(counting::live_bytes());
        }
        counting::stop();
        let grown = (after[3] - after[1]) as f64;
        let what =
            "growth of memory by 100,000 children started, settled and disposed of, rounds three and four";
        table.value(what, grown, "bytes", Some(Bar::AtMost(0.0)));
    });
}
