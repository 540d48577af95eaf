//! Providers made from an async closure, through the public API.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use subagent::{
    ContentBlock, ContentKind, ContentKinds, DepthLimit, DisposeError, Event, Inbox, InboxSender, Live,
    NoOutput, Outcome, Persona, Provider, ProviderFn, ProviderHandle, Request, Run, Settlement, StartError,
    StartRequest, SteerError, Steerable, StopReason, SubagentResult, Subagents, Update, provider_fn,
    steerable_provider_fn,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Counts the futures that are alive.
#[derive(Clone, Default)]
struct Alive(Arc<AtomicUsize>);

struct Guard(Arc<AtomicUsize>);

impl Alive {
    fn enter(&self) -> Guard {
        self.0.fetch_add(1, Ordering::SeqCst);
        Guard(Arc::clone(&self.0))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A provider whose child never ends by itself and does not listen to its cancellation.
fn deaf(
    alive: &Alive,
) -> ProviderFn<impl Fn(subagent::ChildContext) -> futures::future::BoxFuture<'static, ()> + use<>> {
    let alive = alive.clone();
    provider_fn(move |context| {
        let guard = alive.enter();
        Box::pin(async move {
            let _guard = guard;
            context.progress.text("half an ans");
            std::future::pending::<()>().await;
        }) as _
    })
}

fn subagents() -> Subagents {
    Subagents::new()
}

fn registered<P: Provider>(subagents: &Subagents, provider: P) -> ProviderHandle<P> {
    subagents.register("child", provider).unwrap().leave_registered()
}

async fn collected<R: Run>(run: Live<R, NoOutput>) -> SubagentResult {
    let collected = run.collect().await;
    collected.disposal.unwrap();
    collected.result.unwrap()
}

fn messages(of: &[&str]) -> Vec<Vec<ContentBlock>> {
    of.iter().map(|text| vec![ContentBlock::text(*text)]).collect()
}

/// Lets every task that is ready run.
async fn settle_down() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test]
async fn what_the_closure_returns_is_the_outcome() {
    async fn result_of<A: Into<Outcome> + Send + 'static>(
        answer: impl Fn() -> A + Clone + Send + Sync + 'static,
    ) -> SubagentResult {
        let provider = provider_fn(move |context| {
            let answer = answer();
            async move {
                context.progress.text("reported");
                answer
            }
        });
        collected(registered(&subagents(), provider).start(Request::new("go")).await.unwrap()).await
    }

    assert_eq!(result_of(|| "text").await.text(), "text");
    assert_eq!(result_of(|| "string".to_owned()).await.text(), "string");
    assert_eq!(result_of(|| vec![ContentBlock::text("block")]).await.text(), "block");
    assert_eq!(result_of(|| ()).await.text(), "reported");
    assert_eq!(result_of(|| Outcome::new(StopReason::Refusal)).await.stop_reason(), &StopReason::Refusal);
    assert_eq!(result_of(|| Ok::<_, std::fmt::Error>("ok")).await.text(), "ok");

    let failed = result_of(|| Err::<(), _>(" the disk\u{7} is full\n")).await;
    assert_eq!(failed.stop_reason(), &StopReason::Error);
    assert_eq!(failed.diagnostic(), Some("the disk is full"));
    assert_eq!(failed.text(), "reported");

    let long = result_of(|| Err::<(), _>("ä".repeat(5_000))).await;
    assert!(long.diagnostic().unwrap().len() < 2_010 && long.diagnostic().unwrap().ends_with("ä…"));
    assert_eq!(result_of(|| Err::<(), _>(" ")).await.diagnostic(), Some("the child failed"));
}

#[tokio::test]
async fn a_panic_is_a_result_without_its_message() {
    let provider = provider_fn(async |context| {
        context.progress.text("so far");
        assert!(context.request.prompt().is_empty(), "secret");
    });
    let run = registered(&subagents(), provider).start(Request::new("go")).await.unwrap();
    let result = collected(run).await;
    assert_eq!(result.stop_reason(), &StopReason::Error);
    assert_eq!(result.diagnostic(), Some("the child panicked"));
    assert_eq!(result.text(), "so far");
}

#[tokio::test]
async fn a_panic_before_the_future_begins_is_a_start_error() {
    let provider = provider_fn(|context| {
        assert!(context.request.prompt().is_empty(), "no");
        async {}
    });
    let subagents = subagents();
    let error = registered(&subagents, provider).start(Request::new("go")).await.unwrap_err();
    assert!(matches!(error, StartError::Panicked { .. }), "{error}");
    assert!(subagents.runs().is_empty());
}

#[tokio::test]
async fn messages_arrive_in_order_typed_and_by_name() {
    let subagents = subagents();
    let provider = steerable_provider_fn(async |_context, mut inbox| {
        let mut heard = Vec::new();
        while heard.last().is_none_or(|last| last != "stop") {
            heard.extend(inbox.recv_text().await);
        }
        heard.join(" ")
    });
    let handle = registered(&subagents, provider);

    let run = handle.start(Request::new("listen")).await.unwrap();
    for word in ["one", "two", "stop"] {
        run.send_message(word).await.unwrap();
    }
    assert_eq!(collected(run).await.text(), "one two stop");

    let run = subagents.start("child", Request::new("listen")).await.unwrap();
    let run = run.into_steerable().unwrap();
    run.send_message("one").await.unwrap();
    run.send_message("stop").await.unwrap();
    let result = collected(run).await;
    assert_eq!(result.text(), "one stop");
    assert!(result.undelivered().is_empty());
}

#[tokio::test]
async fn the_plain_form_cannot_be_steered_by_name() {
    let subagents = subagents();
    registered(&subagents, provider_fn(async |_context| "done"));
    let run = subagents.start("child", Request::new("go")).await.unwrap();
    let run = run.into_steerable().unwrap_err();
    assert_eq!(collected(run).await.text(), "done");
}

#[tokio::test]
async fn a_message_that_the_closure_did_not_receive_is_listed() {
    let (go, wait) = oneshot::channel::<()>();
    let wait = Mutex::new(Some(wait));
    let provider = steerable_provider_fn(move |_context, mut inbox| {
        let wait = wait.lock().unwrap().take();
        async move {
            let first = inbox.recv_text().await;
            wait.unwrap().await.ok();
            first.unwrap()
        }
    });
    let run = registered(&subagents(), provider).start(Request::new("go")).await.unwrap();
    for word in ["one", "two", "three"] {
        run.send_message(word).await.unwrap();
    }
    go.send(()).unwrap();
    run.result().await.unwrap();
    assert!(matches!(run.send_message("four").await, Err(SteerError::Settled)));
    let result = collected(run).await;
    assert_eq!((result.text().as_ref(), result.stop_reason()), ("one", &StopReason::Completed));
    assert_eq!(result.undelivered(), messages(&["two", "three"]));
}

#[tokio::test]
async fn a_closed_inbox_refuses_and_what_it_held_is_listed() {
    let provider = steerable_provider_fn(async |context, mut inbox| {
        inbox.recv().await;
        drop(inbox);
        context.progress.text("closed");
        context.cancellation.cancelled().await;
    });
    let run = registered(&subagents(), provider).start(Request::new("go")).await.unwrap();
    run.send_message("one").await.unwrap();
    run.send_message("two").await.unwrap();
    futures::StreamExt::next(&mut run.updates()).await.unwrap().unwrap();
    assert!(matches!(run.send_message("three").await, Err(SteerError::Settled)));
    run.cancel("enough");
    assert_eq!(collected(run).await.undelivered(), messages(&["two"]));
}

#[tokio::test(start_paused = true)]
async fn a_forced_end_a_panic_and_an_error_list_what_was_not_received() {
    for way in ["deaf", "panic", "error"] {
        let provider = steerable_provider_fn(move |_context, inbox| async move {
            let _inbox = inbox;
            tokio::time::sleep(Duration::from_secs(1)).await;
            match way {
                "deaf" => std::future::pending().await,
                "panic" => panic!("on purpose"),
                _ => Err::<(), _>("on purpose"),
            }
        });
        let run = registered(&subagents(), provider).start(Request::new("go")).await.unwrap();
        run.send_message("one").await.unwrap();
        if way == "deaf" {
            run.cancel("enough");
        }
        let result = collected(run).await;
        let expected = if way == "deaf" { StopReason::Aborted } else { StopReason::Error };
        assert_eq!(result.stop_reason(), &expected, "{way}");
        assert_eq!(result.undelivered(), messages(&["one"]), "{way}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_is_lost_or_doubled_at_the_closing_moment() {
    let subagents = Subagents::builder().cancel_grace(Duration::from_millis(1)).build();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&heard);
    let provider = steerable_provider_fn(move |context, mut inbox| {
        let sink = Arc::clone(&sink);
        async move {
            let wanted: usize = context.request.prompt_text().parse().unwrap();
            for _ in 0..wanted {
                let Some(message) = inbox.recv().await else { break };
                sink.lock().unwrap().extend(message);
            }
        }
    });
    let handle = registered(&subagents, provider);
    for round in 0..300_usize {
        let run = handle.start(Request::new((round % 20 + 1).to_string())).await.unwrap();
        let mut accepted = Vec::new();
        for number in 0.. {
            let message = number.to_string();
            match run.send_message(message.as_str()).await {
                Ok(()) => accepted.push(ContentBlock::text(message)),
                Err(error) => {
                    assert!(matches!(error, SteerError::Settled), "{error}");
                    break;
                }
            }
            if round % 3 == 0 && number == 7 {
                run.cancel("in between");
            }
        }
        let result = collected(run).await;
        let heard = std::mem::take(&mut *heard.lock().unwrap());
        let all: Vec<_> = heard.into_iter().chain(result.undelivered().iter().flatten().cloned()).collect();
        assert_eq!(all, accepted, "round {round}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_closure_may_settle_with_what_it_has() {
    let provider = steerable_provider_fn(async |context, mut inbox| {
        // A waiting inbox wakes up, too.
        assert_eq!(inbox.recv().await, None);
        let cause = context.cancellation.cause().unwrap().to_string();
        Outcome::new(StopReason::Aborted).with_output("so far").with_diagnostic(cause)
    });
    let run = registered(&subagents(), provider).start(Request::new("go")).await.unwrap();
    settle_down().await;
    let before = Instant::now();
    run.cancel("enough");
    assert!(matches!(run.send_message("late").await, Err(SteerError::Settled)));
    let result = collected(run).await;
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert_eq!(result.stop_reason(), &StopReason::Aborted);
    assert_eq!((result.text().as_ref(), result.diagnostic()), ("so far", Some("cancelled: enough")));
}

#[tokio::test(start_paused = true)]
async fn a_deaf_closure_is_settled_after_the_grace_and_ended_by_its_disposal() {
    let alive = Alive::default();
    let run = registered(&subagents(), deaf(&alive)).start(Request::new("go")).await.unwrap();
    settle_down().await;
    let before = Instant::now();
    run.cancel("");
    let settled = run.settle().await;
    assert_eq!(before.elapsed(), Duration::from_secs(2));
    let result = settled.result().unwrap();
    assert_eq!((result.stop_reason(), result.text().as_ref()), (&StopReason::Aborted, "half an ans"));
    assert_eq!(alive.count(), 1);
    settled.dispose().await.unwrap();
    assert_eq!(alive.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn disposing_a_live_run_ends_its_task_before_it_returns() {
    let alive = Alive::default();
    let subagents = subagents();
    let handle = registered(&subagents, deaf(&alive));

    let run = handle.start(Request::new("go")).await.unwrap();
    run.dispose().await.unwrap();
    assert_eq!(alive.count(), 0);

    let run = subagents.start("child", Request::new("go")).await.unwrap();
    settle_down().await;
    assert_eq!(alive.count(), 1);
    run.dispose().await.unwrap();
    assert_eq!(alive.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_handle_dropped_at_any_stage_leaves_no_task_and_one_pair_of_events() {
    let alive = Alive::default();
    let subagents = subagents();
    let handle = registered(&subagents, deaf(&alive));
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let subscription = subagents.subscribe(move |event| {
        seen.lock().unwrap().push(match event {
            Event::Started(_) => "started".to_owned(),
            Event::Ended(ended) => ended.stop_reason.to_string(),
            _ => return,
        });
    });

    drop(handle.start(Request::new("go")));
    assert!(events.lock().unwrap().is_empty());

    drop(handle.start(Request::new("go")).await.unwrap());
    settle_down().await;
    assert_eq!(
        (alive.count(), events.lock().unwrap().drain(..).collect()),
        (0, vec!["started".into(), "aborted".to_owned()])
    );

    let run = handle.start(Request::new("go")).await.unwrap();
    tokio::time::timeout(Duration::from_secs(1), run.collect()).await.unwrap_err();
    settle_down().await;
    assert_eq!(
        (alive.count(), events.lock().unwrap().drain(..).collect()),
        (0, vec!["started".into(), "aborted".to_owned()])
    );

    let run = handle.start(Request::new("go")).await.unwrap();
    run.cancel("");
    drop(run.settle().await);
    settle_down().await;
    assert_eq!(alive.count(), 0);
    drop(subscription);
    subagents.shutdown().await;
}

#[test]
fn a_runtime_that_goes_ends_the_child_as_aborted() {
    let alive = Alive::default();
    let subagents = subagents();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let handle = registered(&subagents, deaf(&alive));
    let run = runtime.block_on(async {
        let run = handle.start(Request::new("go")).await.unwrap();
        tokio::task::yield_now().await;
        run
    });
    drop(runtime);
    assert_eq!(alive.count(), 0);
    let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let result = other.block_on(run.result()).unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Aborted);
    drop(run);
}

struct Honoured;
subagent::supports!(Honoured: Persona, DepthLimit);

#[tokio::test]
async fn a_closure_honours_the_capabilities_that_it_takes_before_its_future() {
    let provider = provider_fn(|mut context| {
        let persona = context.request.take::<Persona>().unwrap_or_default();
        let depth = context.request.take::<DepthLimit>();
        async move { format!("{persona} {depth:?}") }
    })
    .supporting::<Honoured>();
    let subagents = subagents();
    let handle = registered(&subagents, provider);
    let run = handle.start(Request::new("go").persona("a pirate").max_depth(3)).await.unwrap();
    assert_eq!(collected(run).await.text(), "a pirate Some(3)");
    let run = subagents.start("child", Request::new("go").max_depth(1)).await.unwrap();
    assert_eq!(collected(run).await.text(), " Some(1)");
    let error = subagents.start("child", Request::new("go").model("large")).await.unwrap_err();
    assert!(matches!(error, StartError::UnsupportedCapability { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_taken_after_the_future_began_counts_as_ignored() {
    let alive = Alive::default();
    let entered = alive.clone();
    let provider = provider_fn(move |mut context| {
        let entered = entered.clone();
        async move {
            let _guard = entered.enter();
            context.request.take::<Persona>().unwrap_or_default()
        }
    })
    .supporting::<Honoured>();
    let subagents = subagents();
    let handle = registered(&subagents, provider);
    for _ in 0..50 {
        let error = handle.start(Request::new("go").persona("a pirate")).await.unwrap_err();
        assert!(
            matches!(&error, StartError::Ignored { provider, capability, .. } if &**provider == "child" && capability == "persona"),
            "{error}"
        );
    }
    assert_eq!(alive.count(), 0);
    assert!(subagents.runs().is_empty());
}

#[tokio::test]
async fn other_content_than_text_is_refused_unless_the_closure_carries_it() {
    let subagents = subagents();
    let image = || vec![ContentBlock::text("look"), ContentBlock::image("aGk=", "image/png")];
    let plain = registered(&subagents, provider_fn(async |_context| "seen"));
    let error = plain.start(Request::new(image())).await.unwrap_err();
    assert!(
        matches!(error, StartError::UnsupportedContent { kind: ContentKind::Image, index: 1, .. }),
        "{error}"
    );

    let carrying = provider_fn(async |context| context.request.prompt().to_vec())
        .carrying(ContentKinds::TEXT.with(ContentKind::Image));
    let carrying = subagents.register("carrying", carrying).unwrap();
    let result = collected(carrying.start(Request::new(image())).await.unwrap()).await;
    assert_eq!(result.output().to_vec(), image());
}

#[tokio::test]
async fn reports_reach_every_watcher() {
    let provider = provider_fn(async |context| {
        context.progress.text("one");
        context.progress.report(Update::MessageEnd);
    });
    let run = registered(&subagents(), provider).start(Request::new("go")).await.unwrap();
    let updates = futures::StreamExt::collect::<Vec<_>>(run.updates()).await;
    let updates: Vec<_> = updates.into_iter().map(|update| (*update.unwrap()).clone()).collect();
    assert_eq!(updates, [Update::text("one"), Update::MessageEnd]);
    assert_eq!(collected(run).await.text(), "one");
}

/// A run whose child settles in the very moment in which it is sent a message.
struct Touchy {
    settlement: Mutex<Option<Settlement>>,
    sender: InboxSender,
    _inbox: Inbox,
}

impl Run for Touchy {
    subagent::steerable!();
    subagent::not_resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        Ok(())
    }
}

impl Steerable for Touchy {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        let settlement = self.settlement.lock().unwrap().take();
        settlement.unwrap().complete("gone");
        self.sender.send(content)
    }
}

struct TouchyProvider;
subagent::supports!(TouchyProvider:);

impl Provider for TouchyProvider {
    type Run = Touchy;

    async fn start(&self, _request: StartRequest, settlement: Settlement) -> Result<Touchy, StartError> {
        let (sender, inbox) = settlement.inbox();
        Ok(Touchy { settlement: Mutex::new(Some(settlement)), sender, _inbox: inbox })
    }
}

#[tokio::test]
async fn an_inbox_that_is_still_open_refuses_from_the_moment_in_which_the_run_settles() {
    let run = registered(&subagents(), TouchyProvider).start(Request::new("go")).await.unwrap();
    assert!(matches!(run.send_message("one").await, Err(SteerError::Settled)));
    let result = collected(run).await;
    assert_eq!((result.text().as_ref(), result.undelivered().len()), ("gone", 0));
}

/// A wrapper that drops the run inside instead of disposing of it.
struct Careless<P>(P);
subagent::supports!(Careless<P> => P);

struct Nothing;

impl Run for Nothing {
    subagent::not_steerable!();
    subagent::not_resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        Ok(())
    }
}

impl<P: Provider> Provider for Careless<P> {
    type Run = Nothing;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Nothing, StartError> {
        drop(self.0.start(request, settlement).await?);
        Ok(Nothing)
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_run_itself_ends_its_task() {
    let alive = Alive::default();
    let run = registered(&subagents(), Careless(deaf(&alive))).start(Request::new("go")).await.unwrap();
    let settled = run.settle_within(Duration::from_secs(1)).await.unwrap();
    assert_eq!(alive.count(), 0);
    assert_eq!(settled.result().unwrap().stop_reason(), &StopReason::Aborted);
    settled.dispose().await.unwrap();
}
