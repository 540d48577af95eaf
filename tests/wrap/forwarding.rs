//! Steering through wrappers, and what they may not claim.

use std::time::Duration;

use subagent::wrap::{Fallback, Retry, Validated};
use subagent::{
    Absent, Outcome, Present, Provider, Request, Run, StartError, SteerError, StopReason, Subagents,
    provider_fn, steerable_provider_fn,
};
use tokio::time::Instant;

use crate::stage::{Act, Stage, collected, registered, secs, times};

fn fine(outcome: &Outcome) -> Result<(), String> {
    if outcome.output.is_empty() { Err("say something".to_owned()) } else { Ok(()) }
}

#[tokio::test(start_paused = true)]
async fn messages_pass_through_every_wrapper_typed_and_by_name() {
    let echo = || {
        steerable_provider_fn(async |_context, mut inbox| {
            let first = inbox.recv_text().await.unwrap_or_default();
            format!("{first} {}", inbox.recv_text().await.unwrap_or_default())
        })
    };
    let wrapped = || {
        let inner = Validated::new(echo(), fine);
        Fallback::new(Retry::new(inner, times(2)), echo())
    };
    let subagents = Subagents::new();
    let handle = registered(&subagents, wrapped());
    let run = handle.start(Request::new("go")).await.unwrap();
    run.send_message("one").await.unwrap();
    run.send_message("two").await.unwrap();
    assert_eq!(collected(run).await.text(), "one two");

    let run = subagents.start("wrapped", Request::new("go")).await.unwrap().into_steerable().unwrap();
    run.send_message("one").await.unwrap();
    run.send_message("two").await.unwrap();
    assert_eq!(collected(run).await.text(), "one two");
}

#[tokio::test(start_paused = true)]
async fn a_message_between_two_children_waits_for_the_next_one() {
    let stage = Stage::new([
        Act::fails("first").after(secs(1)).disposed_for(secs(1)),
        Act::completes("second").starting_for(secs(1)).after(secs(1)),
    ]);
    let handle = registered(&Subagents::new(), Retry::new(stage.clone(), times(2)).pause(secs(1)));
    let run = handle.start(Request::new("go")).await.unwrap();
    run.send_message("early").await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let before = Instant::now();
    run.send_message("late").await.unwrap();
    assert_eq!(before.elapsed(), Duration::from_millis(2_500));
    assert_eq!(collected(run).await.text(), "second");
    assert_eq!(
        stage.log(),
        [
            "start 1 at 1 alive",
            "1 hears early",
            "disposed 1",
            "start 2 at 1 alive",
            "2 hears late",
            "disposed 2"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_message_that_waits_for_a_child_that_never_comes_is_refused() {
    let stage = Stage::new([Act::fails("first").after(secs(1)), Act::does_not_start().starting_for(secs(1))]);
    let handle = registered(&Subagents::new(), Retry::new(stage, times(2)));
    let run = handle.start(Request::new("go")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(matches!(run.send_message("late").await, Err(SteerError::Settled)));
    assert_eq!(collected(run).await.stop_reason(), &StopReason::Error);
}

#[tokio::test(start_paused = true)]
async fn what_a_failed_child_did_not_receive_is_listed_once() {
    let provider = steerable_provider_fn(async |context, mut inbox| {
        let attempt = context.request.prompt_text();
        tokio::time::sleep(secs(1)).await;
        let heard = inbox.recv_text().await.unwrap_or_default();
        if heard == "fail" { Err(attempt) } else { Ok(heard) }
    });
    let run = registered(&Subagents::new(), Retry::new(provider, times(2)))
        .start(Request::new("go"))
        .await
        .unwrap();
    run.send_message("fail").await.unwrap();
    run.send_message("unheard").await.unwrap();
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    run.send_message("heard").await.unwrap();
    let result = collected(run).await;
    assert_eq!((result.stop_reason(), result.text().as_ref()), (&StopReason::Completed, "heard"));
    assert_eq!(result.undelivered(), [vec!["unheard".into()]]);
}

#[tokio::test]
async fn a_wrapper_has_what_is_inside_and_no_more() {
    fn steer_of<P: Provider<Run: Run<Steer = S>>, S>(provider: P) -> P {
        provider
    }
    let plain = || provider_fn(async |_context| "done");
    let steerable = || steerable_provider_fn(async |_context, _inbox| "done");
    steer_of::<_, Present>(Retry::new(steerable(), times(1)));
    steer_of::<_, Absent>(Retry::new(plain(), times(1)));
    steer_of::<_, Present>(Fallback::new(steerable(), steerable()));
    steer_of::<_, Absent>(Fallback::new(steerable(), plain()));
    steer_of::<_, Absent>(Fallback::new(plain(), steerable()));
    steer_of::<_, Absent>(Validated::new(plain(), fine));

    let subagents = Subagents::new();
    registered(&subagents, Retry::new(Fallback::new(steerable(), plain()), times(2)));
    let run = subagents.start("wrapped", Request::new("go")).await.unwrap();
    let run = run.into_steerable().unwrap_err().into_resumable().unwrap_err();
    assert_eq!(collected(run).await.text(), "done");
    let error = subagents.start("wrapped", Request::new("go").max_depth(3)).await.unwrap_err();
    assert!(matches!(error, StartError::UnsupportedCapability { .. }), "{error}");
}
