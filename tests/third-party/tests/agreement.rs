//! A start on a typed handle and one by name agree: in what they accept, in what they refuse, in what comes back.

use std::sync::Arc;

use acme_agents::{Chat, GpuQuota, Metered, OnGpu, OneShot, Reader, Renderer, Thinker, Worker};
use subagent::{
    AnyProviderHandle, Capability, CapabilitySet, Outcome, Plain, Provider, Request, SatisfiedBy, StartError,
    Subagents, Supports, ToolFilter,
};

async fn both_ways<P: Provider, C: CapabilitySet + SatisfiedBy<P>>(
    provider: P,
    request: Request<C>,
) -> Outcome {
    let subagents = Subagents::new();
    let typed = subagents.register("it", provider).unwrap();
    let run = typed.start(request.clone()).await.unwrap();
    let by_type = run.collect().await.into_result().unwrap().into_outcome();

    let run = subagents.start("it", request.clone()).await.unwrap();
    let by_name = run.collect().await.into_result().unwrap().into_outcome();
    assert_eq!(by_type, by_name);

    let written = serde_json::to_string(&request).unwrap();
    let read: Request<subagent::Unchecked> = serde_json::from_str(&written).unwrap();
    let run = subagents.start("it", read).await.unwrap();
    let from_json = run.collect().await.into_result().unwrap().into_outcome();
    assert_eq!(by_type, from_json);
    by_type
}

async fn refused_by_name<P: Provider, C: CapabilitySet>(provider: P, request: Request<C>) -> String {
    let subagents = Subagents::new();
    let _registration = subagents.register("it", provider).unwrap();
    match subagents.start("it", request).await.unwrap_err() {
        StartError::UnsupportedCapability { capability, .. } => capability,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_third_partys_capability_reaches_its_provider() {
    let request = Request::new("a teapot").max_depth(3).with::<GpuQuota>(30).with::<GpuQuota>(20);
    let outcome = both_ways(Renderer, request.clone()).await;
    assert_eq!(outcome.output.to_text(), "rendered a teapot within Some(20) GPU seconds, to depth Some(3)");
    assert_eq!(both_ways(Metered::new(Renderer), request.clone()).await, outcome);
    assert_eq!(both_ways(Arc::new(Metered::new(Renderer)), request).await, outcome);
}

#[tokio::test]
async fn a_wrapper_that_adds_a_capability_takes_it_and_passes_the_others_on() {
    let request = Request::new("hello").max_depth(3).with::<GpuQuota>(20);
    let outcome = both_ways(OnGpu(Metered::new(Chat::default())), request).await;
    assert_eq!(outcome.output.to_text(), "[depth 3] hello (on a GPU, 20 s)");
    // It lists what it supports one by one, and no more than that.
    assert_eq!(
        refused_by_name(OnGpu(Chat::default()), Request::new("hello").persona("A poet")).await,
        "persona"
    );
}

#[tokio::test]
async fn every_built_in_capability_reaches_the_provider_through_a_wrapper() {
    let three = std::num::NonZeroU32::new(3).unwrap();
    let request = Request::new("hello")
        .output::<String>()
        .persona("a poet")
        .model("small")
        .max_output_tokens(three)
        .max_steps(three)
        .max_depth(3)
        .tool_filter(ToolFilter::allow(["read"]));
    let outcome = both_ways(Metered::new(Chat::default()), request).await;
    let text = outcome.output.to_text();
    for part in ["[depth 3]", "read", "[as a poet]", "[by small]", "[3 tokens]", "[3 steps]", "hello"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert_eq!(outcome.structured, Some(text.as_ref().into()));
}

#[tokio::test]
async fn a_conditional_capability_is_there_when_its_condition_holds() {
    let request = Request::new("think").tool_filter(ToolFilter::deny(["write"]));
    both_ways(Thinker(Worker), request.clone()).await;
    both_ways(Metered::new(Thinker(Worker)), request.clone()).await;
    assert_eq!(refused_by_name(Thinker(Reader), request.clone()).await, "tool-filter");
    assert_eq!(refused_by_name(Metered::new(Thinker(Reader)), request).await, "tool-filter");
}

#[test]
fn what_a_handle_lists_is_what_was_declared() {
    let subagents = Subagents::new();
    let _guards = (
        subagents.register("one-shot", Metered::new(OneShot)).unwrap(),
        subagents.register("renderer", Metered::new(Renderer)).unwrap(),
        subagents.register("worker", Thinker(Worker)).unwrap(),
        subagents.register("reader", Thinker(Reader)).unwrap(),
        subagents.register("on-gpu", OnGpu(Renderer)).unwrap(),
    );
    let listed: Vec<_> = subagents
        .list()
        .iter()
        .map(|provider: &AnyProviderHandle| provider.capabilities().to_string())
        .collect();
    assert_eq!(
        listed,
        [
            "none",
            "acme/gpu-quota, depth-limit",
            "depth-limit, tool-filter",
            "depth-limit",
            "acme/gpu-quota, depth-limit"
        ]
    );
}

/// A capability that is claimed for providers which never declared it.
struct Claimed;

impl Capability for Claimed {
    const NAME: &'static str = "acme/claimed";
    type Value = u32;
    type Kind = Plain;

    fn narrow(_earlier: u32, later: u32) -> u32 {
        later
    }
}

impl Supports<Claimed> for Nobody {}

/// Declares nothing.
struct Nobody;

subagent::supports!(Nobody:);

impl Provider for Nobody {
    type Run = acme_agents::OneShotRun;

    async fn start(
        &self,
        request: subagent::StartRequest,
        settlement: subagent::Settlement,
    ) -> Result<Self::Run, StartError> {
        OneShot.start(request, settlement).await
    }
}

// On a typed handle this does not build: see `ui/fail`.
#[tokio::test]
async fn a_capability_that_is_claimed_but_not_declared_is_refused_by_name() {
    let request = Request::new("go there").with::<Claimed>(1);
    assert_eq!(refused_by_name(Nobody, request.clone()).await, "acme/claimed");
    assert_eq!(refused_by_name(Metered::new(Nobody), request).await, "acme/claimed");
}

#[tokio::test]
async fn a_wrapped_run_is_steered_and_resumed_typed_and_by_name() {
    let subagents = Subagents::new();
    let metered = subagents.register("metered", Metered::new(Chat { waits_for: 1 })).unwrap();

    let run = metered.start(Request::new("one")).await.unwrap();
    run.send_message("two").await.unwrap();
    let run = run.settle().await.resume("three").await.unwrap();
    run.send_message("four").await.unwrap();
    let by_type = run.collect().await.into_result().unwrap().into_outcome();
    assert_eq!(by_type.output.to_text(), "one, two, three, four");

    let run = subagents.start("metered", Request::new("one")).await.unwrap();
    let run = run.into_steerable().unwrap().into_resumable().unwrap();
    run.send_message("two").await.unwrap();
    let run = run.settle().await.resume("three").await.unwrap();
    run.send_message("four").await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().into_outcome(), by_type);
    assert_eq!(metered.provider().asked(), 8);
}

#[tokio::test]
async fn what_a_wrapper_adds_stays_in_force_for_a_follow_up() {
    let subagents = Subagents::new();
    let on_gpu = subagents.register("on-gpu", OnGpu(Chat::default())).unwrap();
    let run = on_gpu.start(Request::new("one").with::<GpuQuota>(20)).await.unwrap();
    let run = run.settle().await.resume("two").await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "one, two (on a GPU, 20 s)");
}
