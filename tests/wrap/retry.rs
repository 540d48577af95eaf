use std::sync::Arc;

use futures::StreamExt;
use subagent::wrap::Retry;
use subagent::{ModelUsage, Outcome, Request, StartError, StopReason, Subagents, Update, Usage};
use tokio::time::Instant;

use crate::stage::{Act, Stage, collected, events, registered, secs, times};

#[tokio::test(start_paused = true)]
async fn a_failed_child_is_disposed_of_and_the_next_one_gives_the_result() {
    let stage = Stage::new([
        Act::fails("first").saying("half of the first"),
        Act::fails("second").after(secs(1)).disposed_for(secs(1)),
        Act::completes("third").after(secs(1)),
    ]);
    let subagents = Subagents::new();
    let handle = registered(&subagents, Retry::new(stage.clone(), times(3)));
    let (_subscription, events) = events(&subagents);
    let run = handle.start(Request::new("go")).await.unwrap();
    let result = collected(run).await;
    assert_eq!((result.stop_reason(), result.text().as_ref()), (&StopReason::Completed, "third"));
    assert_eq!(
        stage.log(),
        [
            "start 1 at 1 alive",
            "disposed 1",
            "start 2 at 1 alive",
            "disposed 2",
            "start 3 at 1 alive",
            "disposed 3"
        ]
    );
    assert_eq!(stage.alive(), 0);
    assert_eq!(*events.lock().unwrap(), ["started", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn there_are_no_more_children_than_allowed_and_the_last_outcome_stands() {
    let usage = |tokens| {
        let mut usage = Usage::default();
        usage.add(&ModelUsage::new("m", tokens, 1));
        usage
    };
    let message = |text: &str| vec![vec![text.into()]];
    let stage = Stage::new([
        Act::ends(Outcome::error("first").with_usage(usage(10)).with_undelivered(message("a"))),
        Act::ends(Outcome::error("second").with_usage(usage(5)).with_undelivered(message("b"))),
    ]);
    let subagents = Subagents::new();
    registered(&subagents, Retry::new(stage.clone(), times(2)));
    // By name.
    let result = collected(subagents.start("wrapped", Request::new("go")).await.unwrap()).await;
    assert_eq!((result.stop_reason(), result.diagnostic()), (&StopReason::Error, Some("second")));
    assert_eq!(result.usage().own, [ModelUsage::new("m", 15, 2)]);
    assert_eq!(result.undelivered(), [message("a"), message("b")].concat());
    assert_eq!((stage.starts(), stage.alive()), (2, 0));
}

#[tokio::test(start_paused = true)]
async fn what_a_failed_child_said_is_not_the_output_of_the_next() {
    let stage = Stage::new([
        Act::fails("no").saying("the first's words"),
        Act::ends(Outcome::new(StopReason::Completed)).after(secs(1)),
    ]);
    let run =
        registered(&Subagents::new(), Retry::new(stage, times(2))).start(Request::new("go")).await.unwrap();
    let updates: Vec<_> = run.updates().map(|update| (*update.unwrap()).clone()).collect().await;
    let Update::Other { kind, data } = &updates[1] else { panic!("{updates:?}") };
    assert_eq!(kind, "subagent/attempt");
    assert_eq!(*data, serde_json::json!({"attempt": 2, "stop_reason": "error", "diagnostic": "no"}));
    assert_eq!(updates[0], Update::text("the first's words"));
    assert_eq!(collected(run).await.text(), "");
}

#[tokio::test(start_paused = true)]
async fn the_last_childs_words_are_its_output_where_no_other_starts() {
    let stage = Stage::new([Act::fails("no").saying("words"), Act::does_not_start(), Act::does_not_start()]);
    let handle = registered(&Subagents::new(), Retry::new(stage.clone(), times(3)));
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!((result.text().as_ref(), result.diagnostic()), ("words", Some("no")));
    assert_eq!((stage.starts(), stage.alive()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_start_that_failed_is_tried_again_after_the_pause() {
    let stage =
        Stage::new([Act::does_not_start(), Act::does_not_start(), Act::completes("yes").after(secs(1))]);
    let subagents = Subagents::new();
    let handle = registered(&subagents, Retry::new(stage.clone(), times(3)).pause(secs(10)));
    let (_subscription, events) = events(&subagents);
    let before = Instant::now();
    let run = handle.start(Request::new("go")).await.unwrap();
    assert_eq!(before.elapsed(), secs(20));
    assert_eq!(collected(run).await.text(), "yes");
    assert_eq!(*events.lock().unwrap(), ["started", "completed"]);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_never_succeeds_is_a_start_error_and_no_run() {
    let stage = Stage::new([Act::does_not_start(), Act::does_not_start()]);
    let subagents = Subagents::new();
    let handle = registered(&subagents, Retry::new(stage.clone(), times(2)));
    let (_subscription, events) = events(&subagents);
    let error = handle.start(Request::new("go")).await.unwrap_err();
    let StartError::Failed { provider, source, .. } = error else { panic!("{error}") };
    assert_eq!((&*provider, source.to_string().as_str()), ("wrapped", "no child 2"));
    assert_eq!((stage.starts(), stage.alive(), events.lock().unwrap().len()), (2, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn only_the_outcomes_asked_for_are_tried_again() {
    let refused = || Act::ends(Outcome::new(StopReason::Refusal));
    let stage = Stage::new([refused()]);
    let handle = registered(&Subagents::new(), Retry::new(stage.clone(), times(3)));
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!((result.stop_reason(), stage.starts()), (&StopReason::Refusal, 1));

    let stage = Stage::new([refused(), Act::fails("no")]);
    let retry =
        Retry::new(stage.clone(), times(3)).when(|outcome| outcome.stop_reason == StopReason::Refusal);
    let handle = registered(&Subagents::new(), retry);
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!((result.stop_reason(), stage.starts()), (&StopReason::Error, 2));

    let stage = Stage::new([Act::fails("no")]);
    let retry = Retry::new(stage.clone(), times(3)).when(|outcome| panic!("{outcome:?}"));
    let handle = registered(&Subagents::new(), retry);
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!((result.diagnostic(), stage.starts()), (Some("no"), 1));
}

#[tokio::test(start_paused = true)]
async fn a_lost_settlement_is_not_tried_again() {
    let stage = Stage::new([Act::hangs()]);
    let run = registered(&Subagents::new(), Retry::new(Losing(stage.clone()), times(3)))
        .start(Request::new("go"))
        .await
        .unwrap();
    let collected = run.collect().await;
    assert!(matches!(collected.result, Err(subagent::RunFault::SettlementLost { .. })));
    assert_eq!((stage.starts(), stage.alive()), (1, 0));
}

/// Gives the provider inside another settlement, and loses its own.
struct Losing(Stage);
subagent::supports!(Losing:);

impl subagent::Provider for Losing {
    type Run = crate::stage::StageRun;

    async fn start(
        &self,
        request: subagent::StartRequest,
        settlement: subagent::Settlement,
    ) -> Result<Self::Run, StartError> {
        let (inner, _outcome) = settlement.intercept();
        self.0.start(request, inner).await
    }
}

#[tokio::test(start_paused = true)]
async fn every_child_must_take_what_was_asked() {
    let request = || Request::new("go").max_depth(5).persona("a pirate");
    let stage = Stage::new([Act::fails("first").after(secs(1)), Act::completes("second")]);
    let handle = registered(&Subagents::new(), Retry::new(stage, times(2)));
    assert_eq!(collected(handle.start(request()).await.unwrap()).await.text(), "second");

    let stage = Stage::new([Act::completes("ignored").ignoring()]);
    let subagents = Subagents::new();
    let handle = registered(&subagents, Retry::new(stage.clone(), times(2)));
    let error = handle.start(request()).await.unwrap_err();
    assert!(matches!(error, StartError::Ignored { .. }), "{error}");
    assert_eq!((stage.starts(), stage.alive(), subagents.runs().len()), (1, 0, 0));

    // In a later attempt the start is long over: the failed child's outcome stands.
    let stage = Stage::new([Act::fails("first").after(secs(1)), Act::completes("ignored").ignoring()]);
    let handle = registered(&Subagents::new(), Retry::new(stage.clone(), times(3)));
    let result = collected(handle.start(request()).await.unwrap()).await;
    assert_eq!((result.diagnostic(), stage.starts(), stage.alive()), (Some("first"), 2, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_that_fails_inside_its_start_does_not_spoil_the_check_of_the_start() {
    for _ in 0..200 {
        let stage = Stage::new([Act::fails("first"), Act::completes("second")]);
        let handle = registered(&Subagents::new(), Retry::new(stage, times(2)));
        let run = handle.start(Request::new("go").max_depth(5)).await.unwrap();
        assert_eq!(collected(run).await.text(), "second");
    }
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_goes_to_the_child_that_settled() {
    let stage = Stage::new([Act::fails("first"), Act::completes("second").after(secs(1))]);
    let handle = registered(&Subagents::new(), Retry::new(Arc::new(stage.clone()), times(2)));
    let settled = handle.start(Request::new("go")).await.unwrap().settle().await;
    let resumed = settled.resume("and now").await.unwrap();
    assert_eq!(collected(resumed).await.text(), "2 resumed: and now");
    assert_eq!(stage.alive(), 0);
}
