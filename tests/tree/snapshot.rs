//! What a tree says of each run.

use std::num::NonZeroUsize;
use std::sync::Arc;

use subagent::testing::{Script, ScriptedProvider};
use subagent::{Outcome, Parent, Request, RunState, StopReason, Subagents};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::support::{names, registered, secs, worker};

#[tokio::test(start_paused = true)]
async fn a_live_run_shows_its_time_its_tokens_and_its_last_line() {
    let subagents = Subagents::new();
    let workers = registered(&subagents, "workers", worker(secs(60)));
    let run = workers.start(Request::new("go").agent_type("counter")).await.unwrap();
    sleep(secs(7)).await;

    let tree = subagents.tree();
    let [node] = &tree.roots[..] else { panic!("{tree:?}") };
    assert_eq!(node.run, *run.info());
    assert_eq!((node.state, &node.stop_reason), (RunState::Live, &None));
    assert_eq!((node.elapsed, node.quiet), (Some(secs(7)), secs(7)));
    assert_eq!((node.input_tokens, node.output_tokens), (Some(1234), Some(34)));
    assert_eq!(node.last_line.as_deref(), Some("I look around."));
    let told = "counter (workers) live 7.0s, 1.2k tokens in, 34 out, quiet for 7.0s: I look around.";
    assert_eq!(tree.to_string(), told);

    run.dispose().await.unwrap();
    assert!(subagents.tree().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_watch_keeps_how_a_run_ended_and_its_time_stands_still() {
    let subagents = Subagents::new();
    let watch = subagents.watch_tree();
    let workers = registered(&subagents, "workers", worker(secs(3)));
    let failing = Script::new().text("Half").wait(secs(1)).settle(Outcome::error("the disk is full"));
    let failing = registered(&subagents, "failing", ScriptedProvider::new(failing));
    let first = workers.start(Request::new("go")).await.unwrap();
    let second = failing.start(Request::new("go")).await.unwrap();
    let (first, second) = tokio::join!(first.collect(), second.collect());
    assert!(first.into_result().is_ok() && second.into_result().is_ok());
    sleep(secs(90)).await;

    assert_eq!(
        watch.tree().to_string(),
        "workers completed 3.0s, 1.2k tokens in, 34 out: 42 files.\nfailing error 1.0s: the disk is full"
    );
    let failed = &watch.tree().roots[1];
    assert_eq!((failed.state, &failed.stop_reason), (RunState::Settled, &Some(StopReason::Error)));
    assert_eq!(failed.last_line.as_deref(), Some("Half"));
    assert_eq!(watch.summary().to_string(), "2 runs in 1m33s: 1 error, 1 completed; 1.2k tokens in, 34 out");
}

#[tokio::test(start_paused = true)]
async fn a_watch_forgets_the_earliest_and_counts_them_all_the_same() {
    let subagents = Subagents::new();
    let watch = subagents.watch_tree().keep(NonZeroUsize::new(3).unwrap());
    let workers = registered(&subagents, "workers", worker(secs(1)));
    for name in ["a", "b", "c", "d", "e"] {
        workers.start(Request::new("go").agent_type(name)).await.unwrap().collect().await.result.unwrap();
    }
    let live = workers.start(Request::new("go").agent_type("f")).await.unwrap();
    assert_eq!(names(&watch.tree()), "c d e f");
    let summary = watch.summary();
    assert_eq!((summary.ended, summary.live, summary.input_tokens), (5, 1, Some(5 * 1234)));
    assert_eq!(summary.by_reason, [(StopReason::Completed, 5)]);
    drop(live);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_its_turn_is_seen() {
    let subagents = Subagents::builder().max_concurrent(NonZeroUsize::new(1).unwrap()).build();
    let workers = registered(&subagents, "workers", worker(secs(1)));
    let first = workers.start(Request::new("go").agent_type("first")).await.unwrap();
    let second = tokio::spawn(workers.start(Request::new("go").agent_type("second")));
    tokio::task::yield_now().await;
    let tree = subagents.tree();
    let told = "first (workers) live 0.0s, 1.2k tokens in, 34 out: I look around.\nsecond (workers) starting";
    assert_eq!(tree.to_string(), told);
    first.collect().await.result.unwrap();
    second.await.unwrap().unwrap().collect().await.result.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_child_says_cannot_play_with_the_terminal() {
    let subagents = Subagents::new();
    let evil = "one\n\x1b[2J\u{202e}two\tthree\r\n\n";
    let go_on = Arc::new(Notify::new());
    let script = Script::new().text(evil).wait_for(&go_on).settle(Outcome::error("a\x07\nb"));
    let evil = registered(&subagents, "evil", ScriptedProvider::new(script));
    let watch = subagents.watch_tree();
    let parent = Parent::new("boss\x1b[31m", "session");
    let run = evil.start(Request::new("go").parent(&parent).agent_type("x\ny")).await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(subagents.tree().to_string(), "boss[31m\n└─ x y (evil) live 0.0s: [2Jtwo three");
    go_on.notify_one();
    run.collect().await.result.unwrap();
    assert_eq!(watch.tree().to_string(), "boss[31m\n└─ x y (evil) error 0.0s: a b");
}

#[tokio::test(start_paused = true)]
async fn of_a_long_line_the_end_is_shown() {
    let subagents = Subagents::new();
    let script = Script::new().text("word ".repeat(100_000)).text("and the last");
    let talker = registered(&subagents, "talker", ScriptedProvider::new(script));
    let run = talker.start(Request::new("go")).await.unwrap();
    tokio::task::yield_now().await;
    let text = subagents.tree().to_string();
    assert!(text.starts_with("talker live 0.0s: …") && text.ends_with("word and the last"), "{text}");
    assert_eq!(text.chars().count(), 120);
    run.dispose().await.unwrap();
}
