use std::time::{Duration, Instant};

use subagent::{StopReason, Update};

use super::agents::{RealAgent, assert_completed, seen, with_each};
use super::scene::{eventually, patiently};

/// Cancels a run at a moment, and asks for an answer in the same session after that.
async fn cancelled(agent: &RealAgent, prompt: &str, moment: impl AsyncFn(&mut subagent::Updates)) {
    let provider = agent.register(agent.allowing());
    let run = agent.start(&provider, prompt).await;
    let mut updates = run.updates();
    moment(&mut updates).await;
    let began = Instant::now();
    run.cancel("enough");
    let settled = patiently(run.settle()).await;
    assert!(began.elapsed() < Duration::from_secs(20), "{}", agent.name);
    let said = settled.result().unwrap();
    assert_eq!(said.stop_reason(), &StopReason::Aborted, "{}: {said:?}", agent.name);
    let session = settled.run().session_id();
    let again = patiently(settled.resume("And now? [[reply:THE-NEXT-ANSWER]]")).await.unwrap();
    let settled = patiently(again.settle()).await;
    assert_completed(agent, settled.result().unwrap(), "THE-NEXT-ANSWER");
    assert_eq!(settled.run().session_id(), session);
    patiently(settled.dispose()).await.unwrap();
}

#[tokio::test]
async fn a_cancel_while_the_model_is_slow_ends_the_turn_and_the_next_is_answered() {
    with_each(async |agent| {
        let text = |update: &Update| matches!(update, Update::Text { .. });
        cancelled(agent, "Hello. [[slow:60]]", async |updates| seen(updates, text).await).await;
    })
    .await;
}

#[tokio::test]
async fn a_cancel_while_the_model_hangs_ends_the_turn_and_the_next_is_answered() {
    with_each(async |agent| {
        let hangs = async |_: &mut subagent::Updates| agent.model_heard("\"hang\"").await;
        cancelled(agent, "Hello. [[hang]]", hangs).await;
    })
    .await;
}

#[tokio::test]
async fn a_cancel_in_a_tool_call_ends_the_turn_and_the_next_is_answered() {
    with_each(async |agent| {
        let runs = async |updates: &mut subagent::Updates| {
            seen(updates, |update| matches!(update, Update::ToolCall { .. })).await;
            if agent.name == "claude" {
                eventually(|| agent.exists("begun").then_some(())).await;
            }
        };
        cancelled(agent, &agent.call("echo > begun; sleep 62"), runs).await;
    })
    .await;
}
