use std::time::Duration;

use subagent::testing::Script;
use subagent::{CancelCause, FollowUp, Outcome, Request, StartError, StopReason};
use tokio::time::Instant;

use crate::support::{GRACE, Rig, SECOND};

fn within(limit: Duration) -> Request {
    Request::new("go").time_limit(limit)
}

#[tokio::test(start_paused = true)]
async fn a_child_that_takes_longer_is_cancelled_and_keeps_what_it_has() {
    let rig = Rig::playing([Script::new().text("so far"), Script::new().text("so far").hang()]);
    for extra in [Duration::ZERO, GRACE] {
        let begin = Instant::now();
        let run = rig.started(within(5 * SECOND)).await.unwrap();
        let result = run.collect().await.into_result().unwrap();
        assert_eq!(begin.elapsed(), 5 * SECOND + extra);
        assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::TimeLimit, "so far"));
        assert_eq!(result.diagnostic(), Some("the time limit passed"));
    }
    assert_eq!(rig.events.reasons(), [StopReason::TimeLimit, StopReason::TimeLimit]);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_done_in_time_is_not_touched() {
    let rig = Rig::new(Script::new().wait(4 * SECOND).complete("done"));
    let run = rig.started(within(5 * SECOND)).await.unwrap().settle().await;
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(run.result().unwrap().stop_reason(), &StopReason::Completed);
    run.dispose().await.unwrap();
    // No timer is waited for.
    let begin = Instant::now();
    rig.started(within(3_600 * SECOND)).await.unwrap().collect().await.into_result().unwrap();
    rig.leaves_nothing().await;
    assert_eq!(begin.elapsed(), 4 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn what_it_ends_is_no_failure_and_no_success() {
    let rig = Rig::new(Script::new().ignore_cancel().wait(6 * SECOND).settle(Outcome::error("interrupted")));
    let run = rig.started(within(5 * SECOND)).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::TimeLimit);
    assert_eq!(result.diagnostic(), Some("interrupted"));
}

#[tokio::test(start_paused = true)]
async fn the_start_counts() {
    let listens = Script::new().wait(60 * SECOND).in_start().complete("ran");
    for (script, extra) in [(listens, Duration::ZERO), (Script::new().hang().in_start(), GRACE)] {
        let rig = Rig::new(script);
        let begin = Instant::now();
        let error = rig.started(within(5 * SECOND)).await.unwrap_err();
        assert!(matches!(error, StartError::Cancelled { cause: CancelCause::TimeLimit, .. }), "{error:?}");
        assert_eq!(begin.elapsed(), 5 * SECOND + extra);
        assert!(rig.events.started().is_empty());
        rig.leaves_nothing().await;
    }
    let rig = Rig::new(Script::new().wait(3 * SECOND).in_start().wait(3 * SECOND).complete("ran"));
    let begin = Instant::now();
    let run = rig.started(within(5 * SECOND)).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().stop_reason(), &StopReason::TimeLimit);
    assert_eq!(begin.elapsed(), 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn the_longest_limit_is_no_limit() {
    let rig = Rig::new(Script::new().wait(3_600 * SECOND).complete("done"));
    let run = rig.started(within(Duration::MAX)).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().stop_reason(), &StopReason::Completed);
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn no_time_at_all_ends_the_run_at_once() {
    let rig = Rig::playing([Script::new(), Script::new().wait(SECOND).in_start()]);
    let begin = Instant::now();
    let run = rig.started(within(Duration::ZERO)).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().stop_reason(), &StopReason::TimeLimit);
    let error = rig.started(within(Duration::ZERO)).await.unwrap_err();
    assert!(matches!(error, StartError::Cancelled { cause: CancelCause::TimeLimit, .. }), "{error:?}");
    assert!(begin.elapsed() < SECOND, "{:?}", begin.elapsed());
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn an_earlier_cancel_is_not_renamed() {
    let rig = Rig::new(Script::new().hang());
    let run = rig.started(within(SECOND)).await.unwrap();
    run.cancel("stop");
    let result = run.collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), result.diagnostic()), (&StopReason::Aborted, Some("cancelled: stop")));
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_has_its_own() {
    let rig = Rig::playing([
        Script::new().wait(4 * SECOND).complete("first"),
        Script::new().wait(20 * SECOND).complete("second"),
        Script::new().text("so far"),
    ]);
    let first = rig.started(within(5 * SECOND)).await.unwrap().settle().await;
    // The first run's limit does not bind the second.
    let second = first.resume("again").await.unwrap().settle().await;
    assert_eq!(second.result().unwrap().text(), "second");
    let begin = Instant::now();
    let third = second.resume(FollowUp::new("again").time_limit(7 * SECOND)).await.unwrap();
    let result = third.collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::TimeLimit, "so far"));
    assert_eq!(begin.elapsed(), 7 * SECOND);
    rig.leaves_nothing().await;
}
