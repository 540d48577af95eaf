use std::sync::Arc;

use subagent::testing::{Script, ScriptedProvider};
use subagent::{
    CancelCause, ContentBlock, ContentKind, FollowUp, Outcome, Request, ResumeError, RunId, StopReason,
    Subagents,
};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::custom::{Custom, CustomRun};
use crate::support::{GRACE, Rig, SECOND, poll_pending, registered};

/// A first turn that completes, and then these.
fn then(turns: impl IntoIterator<Item = Script>) -> Rig {
    Rig::playing(std::iter::once(Script::new().complete("first")).chain(turns))
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_is_a_run_of_its_own() {
    let rig = then([Script::new().wait(SECOND).complete("second"), Script::new().complete("third")]);
    let first = rig.start().await.settle().await;
    let first_id = first.id();
    assert_eq!((first.resumed_from(), first.result().unwrap().text()), (None, "first".into()));

    let resume = first.resume("and now?");
    let second_id = resume.run_id();
    let second = resume.await.unwrap();
    assert_ne!(second_id, first_id);
    assert_eq!((second.id(), second.resumed_from()), (second_id, Some(first_id)));
    assert_eq!(rig.events.started(), [first_id, second_id]);
    let second = second.settle().await;
    assert_eq!(second.result().unwrap().text(), "second");

    let third = second.resume("and then?").await.unwrap();
    let third_id = third.id();
    assert_eq!(third.resumed_from(), Some(second_id));
    assert_eq!(third.collect().await.into_result().unwrap().text(), "third");
    let completed = StopReason::Completed;
    assert_eq!(
        rig.events.ended(),
        [(first_id, completed.clone()), (second_id, completed.clone()), (third_id, completed)]
    );
    assert_eq!(rig.log.messages(), [[ContentBlock::from("and now?")], [ContentBlock::from("and then?")]]);
    rig.leaves_nothing().await;
    assert_eq!(rig.log.disposals(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_keeps_the_agent_type_and_takes_a_chosen_id() {
    let rig = then([Script::new().complete("second")]);
    let first = rig.started(Request::new("go").agent_type("scout")).await.unwrap().settle().await;
    let id = RunId::new();
    let second = first.resume(FollowUp::new("again").run_id(id)).await.unwrap();
    assert_eq!((second.id(), second.info().agent_type.as_deref()), (id, Some("scout")));
    second.dispose().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_has_a_token_of_its_own() {
    let rig = then([Script::new(), Script::new().complete("third")]);
    let (of_first, of_second) = (CancellationToken::new(), CancellationToken::new());
    let first = rig.started(Request::new("go").cancellation(of_first.clone())).await.unwrap().settle().await;
    let second = first.resume(FollowUp::new("again").cancellation(of_second.clone())).await.unwrap();
    // The first run's token speaks of the first run alone.
    of_first.cancel();
    let second = second.settle_within(60 * SECOND).await.unwrap_err();
    of_second.cancel();
    let second = second.settle().await;
    assert_eq!(second.result().unwrap().stop_reason(), &StopReason::Aborted);
    // And a cancelled run can be resumed.
    let third = second.resume("once more").await.unwrap();
    assert_eq!(third.collect().await.into_result().unwrap().text(), "third");
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_resumed_run_is_cancelled_by_its_handle_and_by_its_control() {
    let rig = then([Script::new().text("so far"), Script::new().hang()]);
    let second = rig.start().await.settle().await.resume("again").await.unwrap();
    second.cancel("stop");
    let second = second.settle().await;
    assert_eq!(second.result().unwrap().diagnostic(), Some("cancelled: stop"));
    let third = second.resume("again").await.unwrap();
    rig.subagents.control(third.id()).unwrap().cancel("stop this too");
    let begin = Instant::now();
    let result = third.collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), begin.elapsed()), (&StopReason::Aborted, GRACE));
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_follow_up_gives_the_settled_run_back() {
    let rig = then([Script::new().complete("second")]);
    let mut settled = rig.start().await.settle().await;
    let id = settled.id();
    let image = ContentBlock::image("aGk=", "image/png");
    let token = CancellationToken::new();
    token.cancel();
    let refused = [
        (FollowUp::new(Vec::new()), "EMPTY_MESSAGE"),
        (FollowUp::new(""), "EMPTY_MESSAGE"),
        (FollowUp::new(vec![" ".into(), "\n".into()]), "EMPTY_MESSAGE"),
        (FollowUp::new(vec!["look".into(), image]), "UNSUPPORTED_CONTENT"),
        (FollowUp::new("again").cancellation(token), "CANCELLED"),
    ];
    for (follow_up, code) in refused {
        let (error, given_back) = settled.resume(follow_up).await.unwrap_err().into_parts();
        assert_eq!(error.code(), code, "{error:?}");
        if let ResumeError::UnsupportedContent { kind, index, .. } = error {
            assert_eq!((kind, index), (ContentKind::Image, 1));
        }
        settled = given_back;
        assert_eq!((settled.id(), settled.result().unwrap().text()), (id, "first".into()));
    }
    assert_eq!(rig.events.started(), [id]);
    assert!(rig.log.messages().is_empty());
    let second = settled.resume("again").await.unwrap();
    assert_eq!(second.collect().await.into_result().unwrap().text(), "second");
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_live_is_refused_and_its_run_left_alone() {
    let rig = Rig::playing([Script::new().complete("first"), Script::new().hang()]);
    let settled = rig.start().await.settle().await;
    let other = rig.start().await;
    let (error, settled) =
        settled.resume(FollowUp::new("again").run_id(other.id())).await.unwrap_err().into_parts();
    assert!(matches!(error, ResumeError::DuplicateRun { run_id } if run_id == other.id()), "{error:?}");
    assert_eq!(rig.subagents.control(other.id()).unwrap().id(), other.id());
    assert_eq!(other.cancellation().cause(), None);
    settled.dispose().await.unwrap();
    other.dispose().await.unwrap();
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_or_panics_leaves_the_run_as_settled_as_before() {
    let (subagents, provider, events) = registered(Custom::new(|_, settlement| async {
        settlement.complete("first");
        let attempts = std::sync::atomic::AtomicUsize::new(0);
        Ok(CustomRun::new().on_resume(move |_, settlement| {
            let attempt = attempts.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            async move {
                match attempt {
                    0 => Err(ResumeError::failed("the session is gone")),
                    1 => panic!("broken"),
                    _ => {
                        settlement.complete("second");
                        Ok(())
                    }
                }
            }
        }))
    }));
    let settled = provider.start(Request::new("go")).await.unwrap().settle().await;
    let (error, settled) = settled.resume("again").await.unwrap_err().into_parts();
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the session is gone");
    let (error, settled) = settled.resume("again").await.unwrap_err().into_parts();
    assert!(matches!(&error, ResumeError::Panicked { message } if message == "broken"), "{error:?}");
    assert_eq!(settled.result().unwrap().text(), "first");
    assert_eq!(events.started().len(), 1);
    let second = settled.resume("again").await.unwrap();
    assert_eq!(second.collect().await.into_result().unwrap().text(), "second");
    subagents.shutdown().await;
    events.are_paired();
}

/// A run whose first follow-up is not taken before `go`, whether it is cancelled or not.
fn slow_to_resume(go: &Arc<Notify>) -> Custom {
    let go = Arc::clone(go);
    Custom::new(move |_, settlement| {
        let go = Arc::clone(&go);
        async move {
            settlement.complete("first");
            Ok(CustomRun::new().on_resume(move |_, settlement| {
                let go = Arc::clone(&go);
                async move {
                    go.notified().await;
                    settlement.complete("second");
                    Ok(())
                }
            }))
        }
    })
}

#[tokio::test(start_paused = true)]
async fn a_cancel_while_the_resumption_is_pending_gives_the_settled_run_back_within_the_grace() {
    let (subagents, provider, events) = registered(slow_to_resume(&Arc::default()));
    let settled = provider.start(Request::new("go")).await.unwrap().settle().await;
    let token = CancellationToken::new();
    let mut resume = settled.resume(FollowUp::new("again").cancellation(token.clone()));
    poll_pending(&mut resume).await;
    let begin = Instant::now();
    token.cancel();
    let (error, settled) = resume.await.unwrap_err().into_parts();
    assert!(matches!(error, ResumeError::Cancelled { cause: CancelCause::Token, .. }), "{error:?}");
    assert_eq!(begin.elapsed(), GRACE);
    assert_eq!(settled.result().unwrap().text(), "first");
    assert_eq!(events.started().len(), 1);
    settled.dispose().await.unwrap();
    subagents.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_that_is_taken_after_the_cancel_has_ended_before_the_run_is_given_back() {
    // The child takes the follow-up although it is cancelled, and needs a second to stop.
    let token = CancellationToken::new();
    let cancelled = token.clone();
    let working = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let works = Arc::clone(&working);
    let (subagents, provider, events) = registered(Custom::new(move |_, settlement| {
        let (cancelled, works) = (cancelled.clone(), Arc::clone(&works));
        async move {
            settlement.complete("first");
            Ok(CustomRun::new().on_resume(move |_, settlement| {
                let (cancelled, works) = (cancelled.clone(), Arc::clone(&works));
                async move {
                    cancelled.cancel();
                    settlement.cancellation().cancelled().await;
                    works.store(true, std::sync::atomic::Ordering::SeqCst);
                    tokio::spawn(async move {
                        tokio::time::sleep(SECOND).await;
                        works.store(false, std::sync::atomic::Ordering::SeqCst);
                        settlement.settle(Outcome::new(StopReason::Aborted));
                    });
                    Ok(())
                }
            }))
        }
    }));
    let settled = provider.start(Request::new("go")).await.unwrap().settle().await;
    let (error, settled) =
        settled.resume(FollowUp::new("again").cancellation(token)).await.unwrap_err().into_parts();
    assert!(matches!(error, ResumeError::Cancelled { .. }), "{error:?}");
    assert!(!working.load(std::sync::atomic::Ordering::SeqCst), "the child still works on the follow-up");
    assert_eq!(events.started().len(), 1);
    settled.dispose().await.unwrap();
    subagents.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn an_abandoned_resumption_disposes_of_the_run() {
    for polls in [0, 1] {
        let disposed = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let counted = Arc::clone(&disposed);
        let (subagents, provider, events) = registered(Custom::new(move |_, settlement| {
            let counted = Arc::clone(&counted);
            async move {
                settlement.complete("first");
                let run = CustomRun::new()
                    .on_resume(|_, settlement| async move {
                        let _held = settlement;
                        std::future::pending().await
                    })
                    .on_dispose(move || async move {
                        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                        Ok(())
                    });
                Ok(run)
            }
        }));
        let settled = provider.start(Request::new("go")).await.unwrap().settle().await;
        let begin = Instant::now();
        assert!(crate::support::poll_times(polls, settled.resume("again")).await.is_none());
        subagents.shutdown().await;
        assert_eq!(disposed.load(std::sync::atomic::Ordering::SeqCst), 1, "after {polls} polls");
        assert!(begin.elapsed() <= GRACE);
        assert_eq!(events.started().len(), 1);
        events.are_paired();
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_follow_up_leaves_no_child_of_the_first() {
    // The first follow-up's child is deaf, and settled in its place.
    let rig = then([Script::new().hang(), Script::new().complete("third")]);
    let second = rig.start().await.settle().await.resume("again").await.unwrap();
    second.cancel("stop");
    let third = second.settle().await.resume("once more").await.unwrap();
    assert_eq!(third.collect().await.into_result().unwrap().text(), "third");
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn a_resumption_after_the_shutdown_is_refused() {
    let rig = then([Script::new().complete("second")]);
    let settled = rig.start().await.settle().await;
    rig.subagents.shutdown().await;
    let (error, settled) = settled.resume("again").await.unwrap_err().into_parts();
    assert!(matches!(error, ResumeError::ShutDown), "{error:?}");
    settled.dispose().await.unwrap();
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn an_erased_run_is_resumed_once_it_is_narrowed() {
    let subagents = Subagents::new();
    let provider =
        ScriptedProvider::playing([Script::new().complete("first"), Script::new().complete("second")]);
    let rig = Rig::with(subagents, provider);
    let settled = rig.subagents.start("scripted", Request::new("go")).await.unwrap().settle().await;
    let first_id = settled.id();
    let second = settled.into_resumable().unwrap().resume("again").await.unwrap();
    assert_eq!(second.resumed_from(), Some(first_id));
    assert_eq!(second.collect().await.into_result().unwrap().text(), "second");
    rig.leaves_nothing().await;
}
