use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use serde_json::json;
use subagent::testing::{Script, ScriptedProvider};
use subagent::{
    ContentBlock, ContentKind, ContentKinds, DepthLimit, NotASchema, Outcome, Parent, Request, Schema,
    Settlement, StartError, StartRequest, ToolFilter, Unchecked,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::{Recorder, StartsWith, TestRun, by_hand, chain, registered, scripted};

fn plain() -> ScriptedProvider<subagent::Absent> {
    ScriptedProvider::replying("done").without_capabilities()
}

fn schema() -> Schema {
    Schema::new(json!({"type": "object"})).unwrap()
}

/// The request is refused by a provider without capabilities, which is not called.
async fn is_unsupported(request: Request<Unchecked>, capability: &str) {
    let (subagents, _, log) = scripted(plain());
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let error = subagents.start("child", request).await.unwrap_err();
    assert_eq!(error.code(), "UNSUPPORTED_CAPABILITY");
    assert_eq!(
        error.to_string(),
        format!(
            "provider `child` does not support the start-time capability `{capability}`; it supports: none"
        )
    );
    assert!(log.requests().is_empty());
    assert!(recorder.words().is_empty());
    assert!(subagents.runs().is_empty());
}

#[tokio::test]
async fn a_schema_that_the_provider_cannot_keep_is_refused() {
    is_unsupported(Request::new("work").output_schema(schema()).erase(), "output-schema").await;
}

#[tokio::test]
async fn a_depth_limit_that_the_provider_cannot_keep_is_refused() {
    is_unsupported(Request::new("work").max_depth(3).erase(), "depth-limit").await;
}

#[tokio::test]
async fn a_tool_filter_that_the_provider_cannot_keep_is_refused() {
    let filter = ToolFilter::allow(["read"]);
    is_unsupported(Request::new("work").tool_filter(filter).erase(), "tool-filter").await;
}

#[tokio::test]
async fn the_first_unmet_capability_in_the_order_asked_is_named() {
    let one = NonZeroU32::MIN;
    is_unsupported(Request::new("work").max_steps(one).persona("p").max_depth(1).erase(), "step-limit").await;
    is_unsupported(Request::new("work").persona("p").max_steps(one).max_depth(1).erase(), "persona").await;
}

#[tokio::test]
async fn a_provider_that_supports_everything_is_started_with_everything() {
    let (subagents, handle, log) = scripted(ScriptedProvider::replying("done"));
    let run = handle.start(Request::new("work").output_schema(schema()).max_depth(3)).await.unwrap();
    assert!(run.collect().await.into_result().unwrap().is_completed());
    let run =
        subagents.start("child", Request::new("work").max_depth(4).output_schema(schema())).await.unwrap();
    assert!(run.collect().await.into_result().unwrap().is_completed());
    let requests = log.requests();
    assert_eq!(requests[0].capabilities["depth-limit"], json!(3));
    assert_eq!(requests[0].capabilities["output-schema"], json!({"type": "object"}));
    assert_eq!(requests[1].capabilities["depth-limit"], json!(4));
}

#[tokio::test]
async fn the_provider_gets_the_resolved_request_and_the_callers_stays_as_it_was() {
    let (_subagents, handle, log) = scripted(ScriptedProvider::replying("done"));
    let parent = Parent::new("agent", "session").with_depth(3);
    let request = Request::new("work").agent_type("coder").parent(&parent).max_depth(9);
    let before = serde_json::to_value(&request).unwrap();
    let run = handle.start(request.clone()).await.unwrap();
    let id = run.id();
    assert!(run.collect().await.into_result().unwrap().is_completed());

    let seen = &log.requests()[0];
    assert_eq!((seen.run_id, seen.depth), (id, 4));
    assert_eq!((seen.prompt.as_str(), seen.agent_type.as_deref()), ("work", Some("coder")));
    assert_eq!(seen.parent.as_ref().unwrap().agent_id().as_str(), "agent");
    assert_eq!(serde_json::to_value(&request).unwrap(), before);
    assert!(before.get("run_id").is_none(), "the id that was made is not written back: {before}");
}

#[tokio::test]
async fn values_that_are_none_are_refused_before_the_provider_is_called() {
    let (subagents, _, log) = scripted(ScriptedProvider::replying("done"));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    for (capability, value) in [
        ("depth-limit", "-1"),
        ("depth-limit", "-0"),
        ("depth-limit", "1.5"),
        ("depth-limit", "4294967296"),
        ("depth-limit", "9007199254740993"),
        ("depth-limit", "\"2\""),
        ("depth-limit", "null"),
        ("step-limit", "0"),
        ("output-schema", "\"object\""),
        ("output-schema", "[]"),
        ("output-schema", "7"),
        ("tool-filter", r#"{"alow": ["read"]}"#),
    ] {
        let json = format!(r#"{{"prompt": "work", "capabilities": {{"{capability}": {value}}}}}"#);
        let request: Request<Unchecked> = serde_json::from_str(&json).unwrap();
        let error = subagents.start("child", request).await.unwrap_err();
        assert_eq!(error.code(), "INVALID_VALUE", "{json}");
        assert_eq!(error.to_string(), format!("the request's value for `{capability}` is not usable"));
        assert_eq!(chain(&error).len(), 2, "the cause says why: {:?}", chain(&error));
    }
    assert!(
        serde_json::from_str::<Request<Unchecked>>(
            r#"{"prompt": "work", "capabilities": {"depth-limit": NaN}}"#
        )
        .is_err()
    );
    assert!(matches!(Schema::new(json!("object")), Err(NotASchema { .. })));
    assert!(log.requests().is_empty());
    assert!(recorder.words().is_empty());
}

#[tokio::test]
async fn a_child_that_would_be_too_deep_is_refused() {
    let (subagents, handle, log) = scripted(ScriptedProvider::replying("done"));
    let error = handle.start(Request::new("work").max_depth(0)).await.unwrap_err();
    assert!(matches!(error, StartError::DepthExceeded { depth: 1, max_depth: 0 }), "{error:?}");

    // The smallest limit on the path binds, and a provider without the capability is bound by its parent's too.
    let parent = Parent::new("agent", "session").with_depth(2).with_max_depth(2);
    let error = handle.start(Request::new("work").parent(&parent).max_depth(9)).await.unwrap_err();
    assert!(matches!(error, StartError::DepthExceeded { depth: 3, max_depth: 2 }), "{error:?}");
    let _plain = subagents.register("plain", plain()).unwrap();
    let error = subagents.start("plain", Request::new("work").parent(&parent)).await.unwrap_err();
    assert_eq!(error.code(), "DEPTH_EXCEEDED");

    let last = Parent::new("agent", "session").with_depth(u32::MAX);
    let error = handle.start(Request::new("work").parent(&last)).await.unwrap_err();
    assert!(matches!(error, StartError::DepthOverflow { parent_depth: u32::MAX }), "{error:?}");
    assert!(log.requests().is_empty());

    let last_but_one = Parent::new("agent", "session").with_depth(u32::MAX - 1);
    let run = handle.start(Request::new("work").parent(&last_but_one)).await.unwrap();
    assert_eq!(run.info().depth, u32::MAX);
    assert!(run.collect().await.into_result().unwrap().is_completed());
}

#[tokio::test]
async fn an_empty_prompt_and_content_that_is_not_carried_are_refused() {
    let provider =
        ScriptedProvider::replying("done").with_content(ContentKinds::TEXT.with(ContentKind::Image));
    let (_subagents, handle, log) = scripted(provider);
    for blank in [vec![], vec!["".into()], vec![" \n\t".into(), "\u{a0}".into()]] {
        let error = handle.start(Request::new(blank)).await.unwrap_err();
        assert_eq!(error.code(), "EMPTY_PROMPT");
    }
    assert_eq!(handle.start(Request::new("")).await.unwrap_err().code(), "EMPTY_PROMPT");
    assert!(log.requests().is_empty());

    let prompt = vec![
        ContentBlock::text("see"),
        ContentBlock::image("aGk=", "image/png"),
        ContentBlock::audio("aGk=", "audio/wav"),
    ];
    let error = handle.start(Request::new(prompt.clone())).await.unwrap_err();
    assert_eq!(error.code(), "UNSUPPORTED_CONTENT");
    assert_eq!(
        error.to_string(),
        "provider `child` cannot carry audio content (block 2 of the prompt); it carries: text, image"
    );
    assert!(log.requests().is_empty());

    let run = handle.start(Request::new(prompt[..2].to_vec())).await.unwrap();
    assert!(run.collect().await.into_result().unwrap().is_completed());
}

#[tokio::test]
async fn a_provider_whose_start_fails_leaves_no_trace() {
    let script = Script::new().text("half").fail_start("no disk space left");
    let (subagents, handle, log) = scripted(ScriptedProvider::new(script));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let start = handle.start(Request::new("work"));
    let id = start.run_id().unwrap();
    let error = start.await.unwrap_err();
    assert_eq!(error.code(), "START_FAILED");
    assert_eq!(error.run_id(), Some(id));
    assert_eq!(
        chain(&error),
        [format!("provider `child` could not start run {id}"), "no disk space left".into()]
    );
    assert!(recorder.words().is_empty());
    assert!(subagents.runs().is_empty());
    assert_eq!(log.live_children(), 0);
}

#[tokio::test]
async fn a_child_that_settles_before_a_start_that_fails_announces_nothing() {
    let script = Script::new().complete("done").in_start().fail_start("the handshake failed");
    let (subagents, handle, log) = scripted(ScriptedProvider::new(script));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let error = handle.start(Request::new("work")).await.unwrap_err();
    assert_eq!(error.code(), "START_FAILED");
    assert!(recorder.words().is_empty());
    assert_eq!(log.live_children(), 0);
}

#[tokio::test]
async fn a_child_that_settles_within_a_start_that_succeeds_is_announced_in_order() {
    let script = Script::new().complete("done").in_start();
    let (subagents, handle, _log) = scripted(ScriptedProvider::new(script));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let run = handle.start(Request::new("work")).await.unwrap();
    assert_eq!(recorder.words(), ["started", "ended: completed"]);
    assert_eq!(recorder.run_ids(), [run.id(), run.id()]);
    assert!(subagents.runs().is_empty());
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    assert_eq!(recorder.words().len(), 2);
}

#[tokio::test]
async fn a_refused_start_is_refused_at_once_and_an_accepted_one_ends() {
    let (subagents, handle, _log) = scripted(ScriptedProvider::replying("done"));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let mut context = Context::from_waker(Waker::noop());
    let mut refused = handle.start(Request::new("work").max_depth(0));
    let Poll::Ready(Err(error)) = std::pin::Pin::new(&mut refused).poll(&mut context) else {
        panic!("not refused at once");
    };
    assert_eq!(error.code(), "DEPTH_EXCEEDED");
    assert!(recorder.words().is_empty());

    let run = handle.start(Request::new("work")).await.unwrap();
    assert!(run.result().await.unwrap().is_completed());
    assert_eq!(recorder.words(), ["started", "ended: completed"]);
    run.dispose().await.unwrap();
}

#[test]
fn a_start_outside_of_a_runtime_is_an_error() {
    let (subagents, handle, log) = scripted(ScriptedProvider::replying("done"));
    let mut context = Context::from_waker(Waker::noop());
    let mut start = handle.start(Request::new("work"));
    let Poll::Ready(Err(error)) = std::pin::Pin::new(&mut start).poll(&mut context) else {
        panic!("it started");
    };
    assert_eq!(error.code(), "NO_RUNTIME");
    assert!(log.requests().is_empty());
    assert!(subagents.runs().is_empty());
}

#[tokio::test]
async fn a_token_that_has_fired_never_starts_a_child() {
    let (subagents, handle, log) = scripted(ScriptedProvider::replying("done"));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    let fired = CancellationToken::new();
    fired.cancel();
    let parent = Parent::new("agent", "session").with_cancellation(fired.clone());
    for request in [Request::new("work").cancellation(fired), Request::new("work").parent(&parent)] {
        let start = handle.start(request);
        let id = start.run_id();
        let error = start.await.unwrap_err();
        assert_eq!(error.code(), "CANCELLED");
        assert_eq!(error.run_id(), id);
    }
    assert!(log.requests().is_empty());
    assert!(recorder.words().is_empty());
}

/// A provider that declares `DepthLimit` and never looks at it; the child works until it is cancelled, and its
/// disposal waits for that.
fn careless(
    disposed: &Arc<AtomicUsize>,
) -> impl subagent::Provider<Run = TestRun> + subagent::Supports<DepthLimit> {
    let disposed = Arc::clone(disposed);
    StartsWith(move |_: StartRequest, settlement: Settlement| {
        let disposed = Arc::clone(&disposed);
        let child = tokio::spawn(async move {
            settlement.cancellation().cancelled().await;
            settlement.settle(Outcome::new(subagent::StopReason::Aborted));
        });
        let run = TestRun::disposed_by(move || async move {
            child.await.map_err(subagent::DisposeError::failed)?;
            disposed.fetch_add(1, Ordering::SeqCst);
            Ok(())
        });
        async move { Ok(run) }
    })
}

#[tokio::test(start_paused = true)]
async fn a_value_that_the_provider_ignores_fails_the_start_and_the_child_is_gone() {
    let disposed = Arc::default();
    let (subagents, handle) = registered(careless(&disposed));
    let (recorder, _subscription) = Recorder::listen_to(&subagents);
    for n in 1..=2 {
        let start = handle.start(Request::new("work").max_depth(3));
        let id = start.run_id();
        let started = tokio::time::timeout(Duration::from_mins(1), start).await;
        let error = started.expect("the child is cancelled before it is disposed of").unwrap_err();
        assert_eq!(error.code(), "CAPABILITY_IGNORED");
        assert_eq!(error.run_id(), id);
        assert!(error.to_string().contains("declares `depth-limit` but ignored its value"), "{error}");
        assert_eq!(disposed.load(Ordering::SeqCst), n);
    }
    assert!(recorder.words().is_empty());
    assert!(subagents.runs().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_child_of_a_start_that_lost_against_the_removal_is_cancelled_too() {
    let disposed = Arc::default();
    let go = Arc::new(Notify::new());
    let inner = Arc::new(careless(&disposed));
    let (started, wait) = (Arc::new(Notify::new()), Arc::clone(&go));
    let reached = Arc::clone(&started);
    let (subagents, handle) = registered(StartsWith(move |request, settlement| {
        let (inner, wait, reached) = (Arc::clone(&inner), Arc::clone(&wait), Arc::clone(&reached));
        async move {
            reached.notify_one();
            wait.notified().await;
            subagent::Provider::start(&inner, request, settlement).await
        }
    }));
    let start = tokio::spawn(handle.start(Request::new("work")));
    started.notified().await;
    assert!(subagents.unregister("child"));
    go.notify_one();
    let started = tokio::time::timeout(Duration::from_mins(1), start).await;
    let error = started.expect("the child is cancelled before it is disposed of").unwrap().unwrap_err();
    assert_eq!(error.code(), "UNREGISTERED");
    assert_eq!(disposed.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_error_of_another_start_inside_a_start_becomes_the_cause() {
    let (subagents, inner, _log) = scripted(ScriptedProvider::new(Script::new().fail_start("no disk")));
    let registry = subagents.clone();
    let outer = StartsWith(move |_: StartRequest, settlement: Settlement| {
        let (inner, registry) = (inner.clone(), registry.clone());
        async move {
            drop(settlement.progress());
            if registry.list().len() == 2 {
                drop(inner.start(Request::new("work")).await?);
            }
            drop(registry.start("nowhere", Request::new("work")).await?);
            Ok(TestRun::default())
        }
    });
    let outer = subagents.register("outer", outer).unwrap();
    for inner_text in ["could not start run", "no provider is named `nowhere`"] {
        let start = outer.start(Request::new("work"));
        let id = start.run_id().unwrap();
        let error = start.await.unwrap_err();
        assert_eq!(error.code(), "START_FAILED");
        assert_eq!(error.run_id(), Some(id), "the id of the run that was asked for");
        assert_eq!(error.to_string(), format!("provider `outer` could not start run {id}"));
        assert!(chain(&error)[1].contains(inner_text), "{:?}", chain(&error));
        subagents.unregister("child");
    }
}

#[tokio::test]
async fn concurrent_starts_do_not_wait_for_one_another() {
    let second = Arc::new(Notify::new());
    let order = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&order);
    let wait = Arc::clone(&second);
    let (_subagents, handle) =
        registered(StartsWith(move |request: StartRequest, settlement: Settlement| {
            let (wait, log) = (Arc::clone(&wait), Arc::clone(&log));
            async move {
                if request.prompt_text() == "first" {
                    wait.notified().await;
                } else {
                    wait.notify_one();
                }
                log.lock().unwrap().push(request.prompt_text());
                settlement.complete("done");
                Ok(TestRun::default())
            }
        }));
    let (first, second) =
        tokio::join!(handle.start(Request::new("first")), handle.start(Request::new("second")));
    assert_eq!(*order.lock().unwrap(), ["second", "first"]);
    first.unwrap().dispose().await.unwrap();
    second.unwrap().dispose().await.unwrap();
}

#[tokio::test]
async fn a_future_that_is_not_polled_starts_nothing() {
    let (provider, mut settlements) = by_hand();
    let (subagents, handle) = registered(provider);
    let start = handle.start(Request::new("work"));
    assert!(subagents.runs().is_empty());
    drop(start);
    assert!(settlements.try_recv().is_err());
}
