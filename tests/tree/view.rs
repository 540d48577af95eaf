//! The view that is shown while work goes on.

use subagent::testing::ScriptedProvider;
use subagent::tree::TreeView;
use subagent::{Request, Subagents};
use tokio::time::sleep;

use crate::support::{Written, registered, secs, worker};

#[tokio::test(start_paused = true)]
async fn where_nothing_is_drawn_over_each_change_is_a_line_and_long_work_is_told_again() {
    let subagents = Subagents::new();
    let workers = registered(&subagents, "workers", worker(secs(25)));
    let written = Written::default();
    let mut view = TreeView::new(&subagents, written.clone(), false);
    let answer = view
        .during(async {
            sleep(secs(1)).await;
            workers.start(Request::new("go")).await.unwrap().collect().await.result.unwrap();
            41 + 1
        })
        .await;
    assert_eq!(answer, 42);
    let tokens = "1.2k tokens in, 34 out";
    let expected = [
        "workers live 0.0s".to_owned(),
        format!("workers live 10s, {tokens}, quiet for 10s: I look around."),
        format!("workers live 20s, {tokens}, quiet for 20s: I look around."),
        format!("workers completed 25s, {tokens}: 42 files."),
    ];
    assert_eq!(written.text().lines().collect::<Vec<_>>(), expected);
    assert_eq!(view.watch().summary().ended, 1);
}

#[tokio::test(start_paused = true)]
async fn in_a_terminal_one_block_is_drawn_over_and_never_stands_still() {
    let subagents = Subagents::new();
    let workers = registered(&subagents, "workers", worker(secs(2)));
    let written = Written::default();
    let mut view = TreeView::new(&subagents, written.clone(), true);
    view.during(async {
        workers.start(Request::new("go")).await.unwrap().collect().await.result.unwrap();
    })
    .await;
    let text = written.text();
    let frames: Vec<_> = text.split("\x1b[?7l").skip(1).collect();
    assert!(frames.len() > 15, "{text:?}");
    for pair in frames.windows(2) {
        assert_ne!(pair[0], pair[1]);
    }
    // Each but the first goes up the one line that stands there.
    assert_eq!(text.matches("\x1b[1A\r").count(), frames.len() - 1, "{text:?}");
    assert!(frames.last().unwrap().starts_with("✓ workers completed 2.0s"), "{text:?}");
}

#[tokio::test(start_paused = true)]
async fn a_block_stays_within_its_size() {
    let subagents = Subagents::new();
    let plain = registered(&subagents, "plain", ScriptedProvider::replying("a line of some length"));
    let written = Written::default();
    let mut view = TreeView::new(&subagents, written.clone(), true).size(30, 4);
    view.during(async {
        for _ in 0..9 {
            plain.start(Request::new("go")).await.unwrap().collect().await.result.unwrap();
        }
    })
    .await;
    let text = written.text();
    let last = text.rsplit("\x1b[?7l").next().unwrap();
    let lines: Vec<_> = last.split("\x1b[K\n").collect();
    assert_eq!(lines.len(), 5, "{last:?}");
    assert_eq!(lines[0], "… 6 lines above");
    assert!(lines[1..4].iter().all(|line| line.chars().count() <= 30), "{last:?}");
    assert!(lines[1].ends_with("…ength"), "{last:?}");
}

#[test]
fn without_a_timer_the_work_is_done_and_its_end_is_shown() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let written = Written::default();
    runtime.block_on(async {
        let subagents = Subagents::new();
        let plain = registered(&subagents, "plain", ScriptedProvider::replying("ok"));
        let mut view = TreeView::new(&subagents, written.clone(), false);
        view.during(async {
            plain.start(Request::new("go")).await.unwrap().collect().await.result.unwrap();
        })
        .await;
    });
    assert!(written.text().contains("plain completed"), "{}", written.text());
}
