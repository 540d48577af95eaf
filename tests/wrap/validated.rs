use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use subagent::wrap::{Retry, Validated};
use subagent::{Event, Outcome, Request, StopReason, Subagents, provider_fn};

use crate::stage::{Act, Stage, collected, registered, times};

fn a_number(outcome: &Outcome) -> Result<(), String> {
    outcome.output.to_text().parse::<u32>().map(drop).map_err(|_| "a number is wanted".to_owned())
}

#[tokio::test]
async fn what_the_check_rejects_ends_as_an_error_before_anyone_sees_it() {
    let stage = Stage::new([
        Act::completes("42"),
        Act::ends(Outcome::completed("many").with_structured(serde_json::json!(1))),
    ]);
    let subagents = Subagents::new();
    let handle = registered(&subagents, Validated::new(stage, a_number));
    let ended = Arc::new(AtomicUsize::new(0));
    let errors = Arc::clone(&ended);
    let _subscription = subagents.subscribe(move |event| {
        if matches!(event, Event::Ended(ended) if ended.stop_reason == StopReason::Error) {
            errors.fetch_add(1, Ordering::SeqCst);
        }
    });
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!((result.stop_reason(), result.text().as_ref()), (&StopReason::Completed, "42"));

    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!((result.stop_reason(), result.text().as_ref()), (&StopReason::Error, "many"));
    assert_eq!(result.diagnostic(), Some("rejected: a number is wanted"));
    assert_eq!(result.structured_json(), None);
    assert_eq!(ended.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_check_sees_the_text_reported_where_there_is_no_other_output() {
    let provider = provider_fn(async |context| context.progress.text("42"));
    let handle = registered(&Subagents::new(), Validated::new(provider, a_number));
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!((result.stop_reason(), result.text().as_ref()), (&StopReason::Completed, "42"));
}

#[tokio::test]
async fn an_outcome_that_is_not_completed_passes_by_and_a_panicking_check_is_an_error() {
    let stage = Stage::new([Act::ends(Outcome::new(StopReason::Refusal)), Act::completes("x")]);
    let provider = Validated::new(stage.clone(), |outcome: &Outcome| panic!("{:?}", outcome.stop_reason));
    let handle = registered(&Subagents::new(), provider);
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!(result.stop_reason(), &StopReason::Refusal);
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!(result.stop_reason(), &StopReason::Error);
    assert_eq!(stage.alive(), 0);
}

#[tokio::test]
async fn a_follow_up_is_checked_too() {
    let handle = registered(&Subagents::new(), Validated::new(Stage::new([Act::completes("42")]), a_number));
    let settled = handle.start(Request::new("go")).await.unwrap().settle().await;
    let resumed = settled.resume("more").await.unwrap();
    assert_eq!(collected(resumed).await.diagnostic(), Some("rejected: a number is wanted"));
}

#[tokio::test(start_paused = true)]
async fn a_retry_around_it_tries_again_what_was_rejected() {
    let stage = Stage::new([Act::completes("many"), Act::completes("42")]);
    let handle = registered(&Subagents::new(), Retry::new(Validated::new(stage.clone(), a_number), times(2)));
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!((result.text().as_ref(), stage.starts(), stage.alive()), ("42", 2, 0));
}
