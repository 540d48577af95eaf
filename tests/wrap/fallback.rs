use subagent::wrap::Fallback;
use subagent::{ContentKind, ContentKinds, Outcome, Request, StartError, StopReason, Subagents, provider_fn};

use crate::stage::{Act, Stage, collected, events, registered, secs};

#[tokio::test(start_paused = true)]
async fn the_second_is_started_where_the_first_does_not_start() {
    let (first, second) = (Stage::new([Act::does_not_start()]), Stage::new([Act::completes("second")]));
    let subagents = Subagents::new();
    registered(&subagents, Fallback::new(first.clone(), second.clone()));
    let (_subscription, events) = events(&subagents);
    let run = subagents.start("wrapped", Request::new("go").persona("a pirate")).await.unwrap();
    assert_eq!(collected(run).await.text(), "second");
    assert_eq!((first.alive(), second.alive()), (0, 0));
    assert_eq!(*events.lock().unwrap(), ["started", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_of_the_first_brings_the_seconds_turn_on_request_only() {
    let (first, second) = (Stage::new([Act::fails("no")]), Stage::new([]));
    let handle = registered(&Subagents::new(), Fallback::new(first, second));
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!(result.diagnostic(), Some("no"));

    let first = Stage::new([Act::fails("no").saying("half").disposed_for(secs(1))]);
    let second = Stage::new([Act::ends(Outcome::new(StopReason::Refusal)).after(secs(1))]);
    let fallback =
        Fallback::new(first.clone(), second.clone()).when(|outcome| !outcome.stop_reason.is_completed());
    let handle = registered(&Subagents::new(), fallback);
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    // The second's failure stands: there is no third.
    assert_eq!((result.stop_reason(), result.text().as_ref()), (&StopReason::Refusal, ""));
    assert_eq!((first.alive(), second.alive()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn where_neither_starts_the_seconds_error_is_the_starts() {
    let (first, second) = (Stage::new([Act::does_not_start()]), Stage::new([Act::does_not_start()]));
    let subagents = Subagents::new();
    let handle = registered(&subagents, Fallback::new(first, second));
    let error = handle.start(Request::new("go")).await.unwrap_err();
    assert!(matches!(error, StartError::Failed { .. }), "{error}");
    assert!(subagents.runs().is_empty());
}

#[tokio::test]
async fn it_supports_and_carries_what_both_do() {
    let kinds = ContentKinds::TEXT.with(ContentKind::Image);
    let with_images = provider_fn(async |_context| "a").carrying(kinds);
    let subagents = Subagents::new();
    registered(&subagents, Fallback::new(Stage::new([]), with_images));
    let wrapped = subagents.get("wrapped").unwrap();
    assert_eq!(wrapped.content(), ContentKinds::TEXT);
    assert_eq!(wrapped.capabilities().names().count(), 0);

    let subagents = Subagents::new();
    registered(&subagents, Fallback::new(Stage::new([]), Stage::new([])));
    let names: Vec<_> = subagents.get("wrapped").unwrap().capabilities().names().collect();
    assert_eq!(names, ["depth-limit", "persona"]);
}
