use std::sync::{Arc, Mutex};

use subagent::testing::Script;
use subagent::{
    ContentBlock, ContentKind, DisposeError, Inbox, InboxSender, Outcome, Request, SteerError, StopReason,
};
use tokio::sync::Notify;

use crate::custom::{Custom, CustomRun};
use crate::support::{GRACE, Rig, let_others_run, poll_times, registered};

fn texts(messages: &[Vec<ContentBlock>]) -> Vec<&str> {
    messages.iter().flatten().filter_map(ContentBlock::as_text).collect()
}

fn message(text: impl Into<String>) -> Vec<ContentBlock> {
    vec![text.into().into()]
}

#[tokio::test(start_paused = true)]
async fn messages_arrive_in_the_order_accepted_before_the_run_settles() {
    let rig = Rig::new(Script::new().receive().receive().receive().complete("heard"));
    let run = rig.start().await;
    for text in ["one", "two", "three"] {
        run.send_message(text).await.unwrap();
    }
    let result = run.collect().await.into_result().unwrap();
    assert!(result.is_completed() && result.undelivered().is_empty());
    assert_eq!(texts(&rig.log.messages()), ["one", "two", "three"]);
}

#[tokio::test(start_paused = true)]
async fn a_settled_a_cancelled_and_a_panicked_run_takes_no_message() {
    let rig =
        Rig::playing([Script::new().complete("done"), Script::new().hang(), Script::new().panic("scripted")]);
    for cancels in [false, true, false] {
        let run = rig.start().await;
        if cancels {
            run.cancel("stop");
        } else {
            run.result().await.unwrap();
        }
        assert!(matches!(run.send_message("hello?").await, Err(SteerError::Settled)));
        run.dispose().await.unwrap();
    }
    rig.leaves_nothing().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_cancelled_run_did_not_read_is_listed() {
    let rig = Rig::new(Script::new().receive());
    let run = rig.start().await;
    for text in ["one", "two", "three"] {
        run.send_message(text).await.unwrap();
    }
    let_others_run().await;
    run.cancel("stop");
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(texts(&rig.log.messages()), ["one"]);
    assert_eq!(texts(result.undelivered()), ["two", "three"]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_message_and_content_that_is_not_carried_are_refused() {
    let rig = Rig::new(Script::new().hang());
    let run = rig.start().await;
    assert!(matches!(run.send_message(Vec::new()).await, Err(SteerError::EmptyMessage)));
    assert!(matches!(run.send_message(" \n").await, Err(SteerError::EmptyMessage)));
    assert!(matches!(run.send_message(vec!["".into(), "\t".into()]).await, Err(SteerError::EmptyMessage)));
    let mixed = vec!["look".into(), ContentBlock::image("aGk=", "image/png")];
    let error = run.send_message(mixed).await.unwrap_err();
    assert!(
        matches!(error, SteerError::UnsupportedContent { kind: ContentKind::Image, index: 1, .. }),
        "{error:?}"
    );
    assert!(rig.log.messages().is_empty());
    run.dispose().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_panics_or_fails_is_an_error_and_the_run_goes_on() {
    let go = Arc::new(Notify::new());
    let settles = Arc::clone(&go);
    let (subagents, provider, _events) = registered(Custom::new(move |_, settlement| {
        let settles = Arc::clone(&settles);
        let child = tokio::spawn(async move {
            settles.notified().await;
            settlement.complete("went on");
        });
        let calls = std::sync::atomic::AtomicUsize::new(0);
        async move {
            let run = CustomRun::new()
                .on_send(move |_| {
                    let call = calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    async move {
                        match call {
                            0 => panic!("broken"),
                            1 => Err(SteerError::failed("the line is dead")),
                            _ => Ok(()),
                        }
                    }
                })
                .on_dispose(|| async move { child.await.map_err(DisposeError::failed) });
            Ok(run)
        }
    }));
    let run = provider.start(Request::new("go")).await.unwrap();
    let error = run.send_message("one").await.unwrap_err();
    assert!(matches!(&error, SteerError::Panicked { message } if message == "broken"), "{error:?}");
    let error = run.send_message("two").await.unwrap_err();
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the line is dead");
    run.send_message("three").await.unwrap();
    go.notify_one();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "went on");
    subagents.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_left_unpolled_is_not_sent() {
    let rig = Rig::new(Script::new().receive().complete("heard"));
    let run = rig.start().await;
    assert!(poll_times(0, run.send_message("never")).await.is_none());
    run.send_message("this").await.unwrap();
    run.collect().await.into_result().unwrap();
    assert_eq!(texts(&rig.log.messages()), ["this"]);
}

/// What the child does with its inbox before it settles.
type Turn = Box<dyn FnOnce(Inbox) -> futures::future::BoxFuture<'static, Outcome> + Send>;

/// A provider whose child reads the settlement's own inbox, and what a test needs of it.
fn with_inbox(turn: impl Fn() -> Turn + Send + Sync + 'static) -> (Custom, Arc<Mutex<Vec<InboxSender>>>) {
    let senders = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&senders);
    let custom = Custom::new(move |_, settlement| {
        let (sender, inbox) = settlement.inbox();
        kept.lock().unwrap().push(sender.clone());
        let turn = turn()(inbox);
        let child = tokio::spawn(async move { settlement.settle(turn.await) });
        let run = CustomRun::new()
            .on_send(move |content| std::future::ready(sender.send(content)))
            .on_dispose(move || async move {
                child.abort();
                child.await.ok();
                Ok(())
            });
        std::future::ready(Ok(run))
    });
    (custom, senders)
}

#[tokio::test(start_paused = true)]
async fn an_inbox_delivers_in_order_and_ends_with_the_cancel() {
    let (custom, _senders) = with_inbox(|| {
        Box::new(|mut inbox| {
            Box::pin(async move {
                let mut heard = Vec::new();
                while let Some(text) = inbox.recv_text().await {
                    heard.push(text);
                }
                Outcome::new(StopReason::Aborted).with_output(heard.join(" "))
            })
        })
    });
    let (subagents, provider, _events) = registered(custom);
    let run = provider.start(Request::new("go")).await.unwrap();
    for text in ["one", "two"] {
        run.send_message(text).await.unwrap();
        let_others_run().await;
    }
    // Accepted before the cancel, read after it.
    run.send_message("three").await.unwrap();
    run.cancel("stop");
    let result = run.collect().await.into_result().unwrap();
    assert_eq!((&*result.text(), result.undelivered().len()), ("one two three", 0));
    subagents.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_waits_alone_is_woken_by_the_end() {
    // The reader is not the one that settles.
    let ended = Arc::new(Notify::new());
    let told = Arc::clone(&ended);
    let (subagents, provider, _events) = registered(Custom::new(move |_, settlement| {
        let (_, mut inbox) = settlement.inbox();
        let told = Arc::clone(&told);
        tokio::spawn(async move {
            assert_eq!(inbox.recv().await, None);
            told.notify_one();
        });
        tokio::spawn(async move {
            let_others_run().await;
            settlement.complete("done");
        });
        std::future::ready(Ok(CustomRun::new()))
    }));
    let run = provider.start(Request::new("go")).await.unwrap();
    ended.notified().await;
    run.collect().await.into_result().unwrap();
    subagents.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_a_run_that_never_came_to_be_is_woken() {
    let ended = Arc::new(Notify::new());
    let told = Arc::clone(&ended);
    let (_subagents, provider, events) = registered(Custom::new(move |_, settlement| {
        let (_, mut inbox) = settlement.inbox();
        let told = Arc::clone(&told);
        tokio::spawn(async move {
            assert_eq!(inbox.recv().await, None);
            told.notify_one();
        });
        async move {
            let_others_run().await;
            drop(settlement);
            Err(subagent::StartError::failed("the handshake failed"))
        }
    }));
    provider.start(Request::new("go")).await.unwrap_err();
    tokio::time::timeout(GRACE, ended.notified()).await.expect("the reader waits for ever");
    assert!(events.started().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_an_inbox_still_holds_is_listed_by_every_end() {
    let ends: [fn() -> Outcome; 3] = [
        || Outcome::completed("done"),
        || Outcome::error("failed"),
        || Outcome::completed("done").with_undelivered(vec![message("of the provider's own")]),
    ];
    for end in ends {
        let (custom, senders) = with_inbox(move || {
            Box::new(move |mut inbox| {
                Box::pin(async move {
                    inbox.recv().await;
                    end()
                })
            })
        });
        let (subagents, provider, _events) = registered(custom);
        let run = provider.start(Request::new("go")).await.unwrap();
        for text in ["one", "two", "three"] {
            run.send_message(text).await.unwrap();
        }
        let result = run.collect().await.into_result().unwrap();
        let mut expected = end().undelivered;
        expected.extend([message("two"), message("three")]);
        assert_eq!(result.undelivered(), expected);
        let sender = senders.lock().unwrap().pop().unwrap();
        assert!(matches!(sender.send(message("four")), Err(SteerError::Settled)));
        subagents.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_wedged_or_panicked_child_did_not_read_is_listed() {
    for panics in [false, true] {
        let (custom, _senders) = with_inbox(move || {
            Box::new(move |mut inbox| {
                Box::pin(async move {
                    inbox.recv().await;
                    assert!(!panics, "scripted");
                    std::future::pending().await
                })
            })
        });
        let (subagents, provider, events) = registered(custom);
        let run = provider.start(Request::new("go")).await.unwrap();
        run.send_message("one").await.unwrap();
        run.send_message("two").await.unwrap();
        let_others_run().await;
        run.cancel("stop");
        let result = run.collect().await.into_result().unwrap();
        assert_eq!(texts(result.undelivered()), ["two"]);
        assert_eq!(events.reasons(), [if panics { StopReason::Error } else { StopReason::Aborted }]);
        subagents.shutdown().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_inbox_refuses_and_keeps_what_it_accepted() {
    let close = Arc::new(Notify::new());
    let closes = Arc::clone(&close);
    let (custom, _senders) = with_inbox(move || {
        let closes = Arc::clone(&closes);
        Box::new(move |inbox| {
            Box::pin(async move {
                closes.notified().await;
                drop(inbox);
                closes.notified().await;
                Outcome::completed("done")
            })
        })
    });
    let (subagents, provider, _events) = registered(custom);
    let run = provider.start(Request::new("go")).await.unwrap();
    run.send_message("one").await.unwrap();
    close.notify_one();
    let_others_run().await;
    assert!(matches!(run.send_message("two").await, Err(SteerError::Settled)));
    close.notify_one();
    assert_eq!(texts(run.collect().await.into_result().unwrap().undelivered()), ["one"]);
    subagents.shutdown().await;
}

/// Messages race with the end of the run: each is refused, received or listed, and none of them twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_accepted_message_is_received_or_listed_exactly_once() {
    const SENDERS: usize = 3;
    for round in 0..400_usize {
        let received = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&received);
        let (custom, _senders) = with_inbox(move || {
            let sink = Arc::clone(&sink);
            Box::new(move |mut inbox| {
                Box::pin(async move {
                    // Some rounds wait for each message, some look without waiting, and all stop in the middle.
                    for _ in 0..round % 7 {
                        let next = if round % 2 == 0 { inbox.recv().await } else { inbox.try_recv() };
                        sink.lock().unwrap().extend(next);
                    }
                    Outcome::completed("done")
                })
            })
        });
        let (subagents, provider, _events) = registered(custom);
        let run = Arc::new(provider.start(Request::new("go")).await.unwrap());
        let senders: Vec<_> = (0..SENDERS)
            .map(|sender| {
                let run = Arc::clone(&run);
                tokio::spawn(async move {
                    let mut accepted = Vec::new();
                    for number in 0.. {
                        let text = format!("{sender}/{number}");
                        match run.send_message(text.clone()).await {
                            Ok(()) => accepted.push(text),
                            Err(SteerError::Settled) => break,
                            Err(other) => panic!("{other}"),
                        }
                        tokio::task::yield_now().await;
                    }
                    accepted
                })
            })
            .collect();
        if round % 3 == 0 {
            run.cancel("stop");
        }
        let mut accepted = Vec::new();
        for sender in senders {
            accepted.extend(sender.await.unwrap());
        }
        let result = run.result().await.unwrap();
        let received = std::mem::take(&mut *received.lock().unwrap());
        let undelivered = result.undelivered().to_vec();
        for sender in 0..SENDERS {
            let of_sender = |texts: Vec<&str>| {
                let prefix = format!("{sender}/");
                texts
                    .into_iter()
                    .filter(|text| text.starts_with(&prefix))
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            // In the order accepted: first what was received, then what was not.
            let mut seen = of_sender(texts(&received));
            seen.extend(of_sender(texts(&undelivered)));
            assert_eq!(seen, of_sender(accepted.iter().map(String::as_str).collect()), "round {round}");
        }
        Arc::into_inner(run).unwrap().dispose().await.unwrap();
        subagents.shutdown().await;
    }
}
