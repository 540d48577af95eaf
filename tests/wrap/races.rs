//! A cancellation, a disposal or a drop at every stage of a run of several children.

use subagent::wrap::{Fallback, Retry};
use subagent::{
    DepthLimit, DisposeError, Event, Persona, Provider, Request, Run, Settlement, StartError, StartRequest,
    StopReason, Subagents,
};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::stage::{Act, Stage, collected, events, registered, secs, settle_down, times};

/// First child 1 s, its disposal 1 s, pause 1 s, start of the second child 1 s; then it works on.
fn acts() -> [Act; 2] {
    [
        Act::fails("first").after(secs(1)).saying("half").disposed_for(secs(1)),
        Act::hangs().starting_for(secs(1)).disposed_for(secs(1)),
    ]
}

/// A moment inside of each stage, with the number of starts by then.
const STAGES: [(&str, u64, usize); 5] = [
    ("the first child works", 500, 1),
    ("the first child is disposed of", 1_500, 1),
    ("the pause", 2_500, 1),
    ("the start of the second child", 3_500, 2),
    ("the second child works", 4_500, 2),
];

fn moment(millis: u64) -> std::time::Duration {
    std::time::Duration::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_is_never_tried_again() {
    for (stage_name, millis, starts) in STAGES {
        let stage = Stage::new(acts());
        let subagents = Subagents::new();
        let handle = registered(&subagents, Retry::new(stage.clone(), times(5)).pause(secs(1)));
        let (_subscription, events) = events(&subagents);
        let run = handle.start(Request::new("go")).await.unwrap();
        tokio::time::sleep(moment(millis)).await;
        assert_eq!(stage.starts(), starts, "{stage_name}");
        let before = Instant::now();
        run.cancel("enough");
        let settled = run.settle().await;
        assert!(before.elapsed() <= secs(2), "{stage_name}");
        assert_eq!(settled.result().unwrap().stop_reason(), &StopReason::Aborted, "{stage_name}");
        settled.dispose().await.unwrap();
        assert_eq!((stage.starts(), stage.alive()), (starts, 0), "{stage_name}");
        tokio::time::sleep(secs(60)).await;
        assert_eq!(stage.starts(), starts, "{stage_name}");
        assert_eq!(*events.lock().unwrap(), ["started", "aborted"], "{stage_name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_between_two_children_settles_at_once_with_what_the_first_said() {
    let stage = Stage::new(acts());
    let handle = registered(&Subagents::new(), Retry::new(stage.clone(), times(5)).pause(secs(100)));
    let run = handle.start(Request::new("go")).await.unwrap();
    tokio::time::sleep(moment(2_500)).await;
    let before = Instant::now();
    run.cancel("enough");
    let result = run.result().await.unwrap();
    assert_eq!(before.elapsed(), secs(0));
    assert_eq!((result.stop_reason(), result.text().as_ref()), (&StopReason::Aborted, "half"));
    assert_eq!(collected(run).await.diagnostic(), Some("first"));
}

#[tokio::test(start_paused = true)]
async fn disposing_at_any_stage_leaves_nothing_and_starts_nothing() {
    for (stage_name, millis, starts) in STAGES {
        let stage = Stage::new(acts());
        let subagents = Subagents::new();
        let handle = registered(&subagents, Retry::new(stage.clone(), times(5)).pause(secs(1)));
        let (_subscription, events) = events(&subagents);
        let run = handle.start(Request::new("go")).await.unwrap();
        tokio::time::sleep(moment(millis)).await;
        timeout(secs(10), run.dispose()).await.unwrap().unwrap();
        assert_eq!((stage.starts(), stage.alive()), (starts, 0), "{stage_name}");
        tokio::time::sleep(secs(60)).await;
        assert_eq!(stage.starts(), starts, "{stage_name}");
        assert_eq!(*events.lock().unwrap(), ["started", "aborted"], "{stage_name}");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_handle_at_any_stage_leaves_nothing() {
    for (stage_name, millis, starts) in STAGES {
        let stage = Stage::new(acts());
        let subagents = Subagents::new();
        let handle = registered(&subagents, Retry::new(stage.clone(), times(5)).pause(secs(1)));
        let run = handle.start(Request::new("go")).await.unwrap();
        tokio::time::sleep(moment(millis)).await;
        drop(run);
        timeout(secs(10), subagents.shutdown()).await.unwrap();
        assert_eq!((stage.starts(), stage.alive()), (starts, 0), "{stage_name}");
    }
}

#[test]
fn a_runtime_that_goes_at_any_stage_leaves_nothing() {
    for (stage_name, millis, starts) in STAGES {
        let stage = Stage::new(acts());
        let subagents = Subagents::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        let runtime = runtime.unwrap();
        let run = runtime.block_on(async {
            let handle = registered(&subagents, Retry::new(stage.clone(), times(5)).pause(secs(1)));
            let run = handle.start(Request::new("go")).await.unwrap();
            tokio::time::sleep(moment(millis)).await;
            run
        });
        drop(runtime);
        let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let result = other.block_on(run.result()).unwrap();
        assert_eq!(result.stop_reason(), &StopReason::Aborted, "{stage_name}");
        drop(run);
        assert_eq!((stage.starts(), stage.alive()), (starts, 0), "{stage_name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_cancelled_in_a_pause_between_two_starts_starts_no_more() {
    let stage = Stage::new([Act::does_not_start(), Act::hangs()]);
    let subagents = Subagents::new();
    let handle = registered(&subagents, Retry::new(stage.clone(), times(5)).pause(secs(1)));
    let (_subscription, events) = events(&subagents);
    let token = CancellationToken::new();
    let start = tokio::spawn(handle.start(Request::new("go").cancellation(token.clone())));
    settle_down().await;
    token.cancel();
    let error = start.await.unwrap().unwrap_err();
    assert!(matches!(error, StartError::Cancelled { .. }), "{error}");
    tokio::time::sleep(secs(60)).await;
    assert_eq!((stage.starts(), stage.alive(), events.lock().unwrap().len()), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_start_dropped_half_way_leaves_nothing() {
    let stage = Stage::new([Act::does_not_start().starting_for(secs(1)), Act::hangs().starting_for(secs(1))]);
    let subagents = Subagents::new();
    let handle = registered(&subagents, Retry::new(stage.clone(), times(5)));
    // The first act ends by itself in the grace; the second gives a child, too late.
    for starts in [1, 2] {
        timeout(moment(500), handle.start(Request::new("go"))).await.unwrap_err();
        tokio::time::sleep(secs(60)).await;
        assert_eq!((stage.starts(), stage.alive()), (starts, 0));
    }
    assert_eq!(stage.log().last().unwrap(), "disposed 2");
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_never_brings_the_second_providers_turn() {
    for (act, millis) in [
        (Act::hangs(), 500),
        (Act::fails("no").after(secs(1)).disposed_for(secs(1)), 1_500),
        (Act::fails("no").after(secs(3)), 1_500),
    ] {
        let (first, second) = (Stage::new([act]), Stage::new([]));
        let fallback = Fallback::new(first.clone(), second.clone()).when(|_| true);
        let run = registered(&Subagents::new(), fallback).start(Request::new("go")).await.unwrap();
        tokio::time::sleep(moment(millis)).await;
        run.cancel("enough");
        assert_eq!(collected(run).await.stop_reason(), &StopReason::Aborted);
        tokio::time::sleep(secs(60)).await;
        assert_eq!((first.alive(), second.starts()), (0, 0));
    }
}

/// Starts the run inside, waits for a second, and then hands it over, drops it, or fails.
struct Second {
    inner: Retry<Stage>,
    then: Then,
}

#[derive(Clone, Copy, PartialEq)]
enum Then {
    HandsOver,
    Drops,
    Fails,
}

subagent::supports!(Second: DepthLimit, Persona);

impl Provider for Second {
    type Run = Kept<<Retry<Stage> as Provider>::Run>;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
        let run = self.inner.start(request, settlement).await?;
        tokio::time::sleep(secs(1)).await;
        match self.then {
            Then::HandsOver => Ok(Kept(Some(run))),
            Then::Drops => {
                drop(run);
                Ok(Kept(None))
            }
            Then::Fails => {
                run.dispose().await.map_err(StartError::failed)?;
                Err(StartError::failed("changed its mind"))
            }
        }
    }
}

struct Kept<R>(Option<R>);

impl<R: Run> Run for Kept<R> {
    subagent::not_steerable!();
    subagent::not_resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        match self.0 {
            Some(run) => run.dispose().await,
            None => Ok(()),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_second_child_starts_before_the_run_is_published() {
    let stage = Stage::new([Act::fails("first"), Act::completes("second")]);
    let second = Second { inner: Retry::new(stage.clone(), times(2)), then: Then::HandsOver };
    let subagents = Subagents::new();
    let handle = registered(&subagents, second);
    let starts = stage.clone();
    let _subscription = subagents.subscribe(move |event| {
        if matches!(event, Event::Started(_)) {
            assert_eq!(starts.starts(), 1);
        }
    });
    let run = handle.start(Request::new("go").max_depth(5)).await.unwrap();
    assert_eq!(stage.starts(), 1);
    assert_eq!(collected(run).await.text(), "second");

    let stage = Stage::new([Act::fails("first")]);
    let second = Second { inner: Retry::new(stage.clone(), times(2)), then: Then::Fails };
    let handle = registered(&Subagents::new(), second);
    let start = handle.start(Request::new("go"));
    timeout(secs(10), start).await.expect("the disposal inside of the start ends").unwrap_err();
    tokio::time::sleep(secs(60)).await;
    assert_eq!((stage.starts(), stage.alive()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn dropping_the_run_itself_ends_the_child_and_its_driver() {
    let stage = Stage::new([Act::fails("first").after(secs(5)), Act::hangs()]);
    let second = Second { inner: Retry::new(stage.clone(), times(2)), then: Then::Drops };
    let run = registered(&Subagents::new(), second).start(Request::new("go")).await.unwrap();
    settle_down().await;
    assert_eq!(stage.alive(), 0);
    tokio::time::sleep(secs(60)).await;
    assert_eq!(stage.starts(), 1);
    assert_eq!(collected(run).await.stop_reason(), &StopReason::Aborted);
}
