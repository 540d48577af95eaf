//! A fork costs the same whatever its parent's log is long. Counted in allocations, so that a busy machine tells no lie.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use futures::FutureExt;
use subagent::agent::{
    Agent, AssistantMessage, MessageOrigin, SessionEventKind, SessionHeader, SessionWriter, UsageLedger,
    UserMessage,
};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{
    AgentRun, Fork, Live, NoOutput, Parent, ProviderHandle, Request, SessionId, StopReason, Subagents,
};
use tokio_util::sync::CancellationToken;

/// A turn of ten events.
fn turn(log: &mut SessionWriter) {
    let said = || SessionEventKind::Assistant(AssistantMessage::new("yes"));
    let step = || [SessionEventKind::StepStart, said(), SessionEventKind::StepEnd { usage: Vec::new() }];
    let asked = UserMessage::new(MessageOrigin::Prompt, vec!["really?".into()]);
    let note = SessionEventKind::Metadata { key: "note".into(), value: 1.into() };
    let mut events = vec![SessionEventKind::TurnStart, SessionEventKind::User(asked)];
    events.extend([step(), step()].concat());
    events.extend([note, SessionEventKind::TurnEnd { reason: StopReason::Completed }]);
    for event in events {
        log.append(event).unwrap();
    }
}

fn parent(events: u64) -> Agent {
    let mut log = SessionWriter::new(SessionHeader::new(SessionId::new()));
    while log.session().len() < events {
        turn(&mut log);
    }
    assert_eq!(log.session().len(), events);
    let model = ScriptedModel::new().then_always(ScriptedReply::new().text("done"));
    Agent::builder(Arc::new(model)).session(log).build()
}

/// What it takes to have a forked child: the request, the start, the child's session and task. The child's model, which
/// reads all of the conversation, comes after.
fn fork(handle: &ProviderHandle<Fork>, agent: &Agent) -> (AllocationInfo, Live<AgentRun, NoOutput>) {
    let mut run = None;
    let cost = measure(|| {
        let parent = Parent::from(&agent.as_caller(CancellationToken::new(), UsageLedger::new()));
        let start = handle.start(Request::new("go").parent(&parent));
        run = Some(start.now_or_never().unwrap().unwrap());
    });
    (cost, run.unwrap())
}

#[tokio::test]
async fn a_fork_of_a_long_log_costs_as_much_as_one_of_a_short_log() {
    let subagents = Subagents::new();
    let handle = subagents.register("fork", Fork::new()).unwrap();
    // Whatever is set up once is set up here.
    fork(&handle, &parent(10)).1.dispose().await.unwrap();
    let mut costs = Vec::new();
    for events in [10, 1_000, 100_000] {
        let agent = parent(events);
        let (cost, run) = fork(&handle, &agent);
        assert_eq!(run.run().session().header().seed_length, events);
        costs.push((cost.count_total, cost.bytes_total));
        run.dispose().await.unwrap();
    }
    assert!(costs[0].0 > 0 && costs[0].1 < 32 * 1024, "{costs:?}");
    assert!(costs.iter().all(|cost| cost == &costs[0]), "{costs:?}");
}

#[test]
fn a_fork_of_a_fork_costs_as_much_as_a_fork() {
    let costs = [10, 1_000, 100_000].map(|events| {
        let agent = parent(events);
        let prefix = agent.session().completed_prefix();
        let child = SessionWriter::fork(&prefix, SessionHeader::new(SessionId::new()));
        let below = measure(|| {
            let prefix = child.session().completed_prefix();
            drop(SessionWriter::fork(&prefix, SessionHeader::new(SessionId::new())));
        });
        (below.count_total, below.bytes_total, below.count_current)
    });
    assert!(costs[0].0 > 0 && costs[0].2 == 0, "{costs:?}");
    assert!(costs.iter().all(|cost| cost == &costs[0]), "{costs:?}");
}

/// The measure itself: a copy of the log is seen.
#[test]
fn a_copy_of_the_log_would_be_seen() {
    let agent = parent(1_000);
    let copied = measure(|| {
        let events: Vec<_> = agent.session().completed_prefix().events().cloned().collect();
        drop(events);
    });
    assert!(copied.count_total > 100, "{copied:?}");
}
