//! Random trees of delegations: no child has more than its parent, every log is a valid one, every run has its pair
//! of events, and usage adds up.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use subagent::agent::{
    Message, ModelError, ModelEvent, ModelRequest, Session, SessionEventKind, UsageLedger, tool_fn,
};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{
    AgentRun, Event, Fork, Live, Parent, Request, RunId, Settled, Spawn, Subagents, ToolFilter, Unchecked,
    Update,
};

use super::support::{recorded, shown, text, tools};

const TOOLS: [&str; 4] = ["a", "b", "c", "d"];
/// What every model call uses.
const TOKENS: u64 = 10;

/// One agent of the tree: how its parent restricts it, what it does, and how it ends. It is its own prompt.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Node {
    id: u32,
    forked: bool,
    deny: BTreeSet<usize>,
    max_depth: Option<u32>,
    max_steps: Option<NonZeroU32>,
    max_output_tokens: Option<NonZeroU32>,
    uses: Vec<usize>,
    children: Vec<Self>,
    /// It has a turn behind it when it gets its task, so that a fork of it inherits something.
    warm: bool,
    end: End,
}

/// How an agent ends when it is through with its tools and children.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum End {
    Completed,
    Failed,
    Panicked,
    Cancelled,
}

fn tree() -> impl Strategy<Value = Node> {
    let tree = node(Just(Vec::new()).boxed())
        .prop_recursive(3, 12, 3, |below| node(prop::collection::vec(below, 0..3).boxed()));
    tree.prop_map(|mut tree| {
        number(&mut tree, &mut 0);
        tree
    })
}

fn node(children: BoxedStrategy<Vec<Node>>) -> BoxedStrategy<Node> {
    (
        any::<bool>(),
        prop::collection::btree_set(0..TOOLS.len(), 0..2),
        prop::option::weighted(0.3, 1..5_u32),
        prop::option::weighted(0.3, (1..4_u32).prop_map(|steps| NonZeroU32::new(steps).unwrap())),
        prop::option::weighted(0.3, (1..100_u32).prop_map(|tokens| NonZeroU32::new(tokens).unwrap())),
        prop::collection::vec(0..TOOLS.len(), 0..3),
        children,
        any::<bool>(),
        prop_oneof![
            5 => Just(End::Completed),
            1 => Just(End::Failed),
            1 => Just(End::Panicked),
            1 => Just(End::Cancelled),
        ],
    )
        .prop_map(|(forked, deny, max_depth, max_steps, max_output_tokens, uses, children, warm, end)| Node {
            id: 0,
            forked,
            deny,
            max_depth,
            max_steps,
            max_output_tokens,
            uses,
            children,
            warm,
            end,
        })
        .boxed()
}

fn number(node: &mut Node, next: &mut u32) {
    node.id = *next;
    *next += 1;
    node.children.iter_mut().for_each(|child| number(child, next));
}

/// The task that a request is about, and how many rounds of tool calls it has behind it.
fn task(request: &ModelRequest) -> (Node, usize) {
    let messages = request.messages();
    let tasks = messages.iter().enumerate().rev().find_map(|(at, message)| match message {
        Message::User { content, .. } => Some((at, serde_json::from_str(&text(content)).ok()?)),
        _ => None,
    });
    let (at, node) = tasks.unwrap();
    let rounds =
        messages[at..].iter().filter(|message| matches!(message, Message::ToolResults { .. })).count();
    (node, rounds)
}

/// Calls a tool, also one that is denied.
fn call(reply: ScriptedReply, tool: &str, arguments: &serde_json::Value) -> ScriptedReply {
    reply.event(ModelEvent::tool_call("", tool, arguments))
}

/// Uses its tools and delegates all at once, then ends.
fn model() -> ScriptedModel {
    ScriptedModel::new().then_always_with(|request| {
        let (node, rounds) = task(request);
        let reply = ScriptedReply::new().usage(1, TOKENS);
        if rounds > 0 || node.uses.is_empty() && node.children.is_empty() {
            let reply = reply.text(format!("agent {} is done", node.id));
            return match node.end {
                End::Completed => reply,
                End::Failed => reply.error(ModelError::other("broken")),
                End::Panicked => reply.panic(),
                End::Cancelled => reply.hang(),
            };
        }
        let reply = node.uses.iter().fold(reply, |reply, at| call(reply, TOOLS[*at], &json!({})));
        node.children
            .iter()
            .fold(reply, |reply, child| call(reply, "delegate", &serde_json::to_value(child).unwrap()))
    })
}

#[derive(Clone)]
struct World {
    subagents: Subagents,
    /// The children that there were, by the number of their node.
    children: Arc<Mutex<BTreeMap<u32, Was>>>,
}

/// What a child was.
struct Was {
    session: Session,
    parent: Parent,
    /// The length of the seed that it should have.
    seed: u64,
    /// How many runs it had, and the tokens that it wrote itself in them.
    runs: usize,
    own: u64,
}

impl World {
    async fn delegate(&self, parent: Parent, node: Node) -> String {
        let task = serde_json::to_string(&node).unwrap();
        // The same agent with nothing to do yet.
        let idle = Node { uses: Vec::new(), children: Vec::new(), end: End::Completed, ..node.clone() };
        let first = if node.warm { serde_json::to_string(&idle).unwrap() } else { task.clone() };
        let mut request: Request<Unchecked> = Request::new(first).parent(&parent).erase();
        if !node.deny.is_empty() {
            request = request.tool_filter(ToolFilter::deny(node.deny.iter().map(|at| TOOLS[*at])));
        }
        if let Some(depth) = node.max_depth {
            request = request.max_depth(depth);
        }
        if let Some(steps) = node.max_steps {
            request = request.max_steps(steps);
        }
        if let Some(tokens) = node.max_output_tokens {
            request = request.max_output_tokens(tokens);
        }
        let seed = if node.forked { parent.log().unwrap().completed_turns().unwrap().len() } else { 0 };
        let provider = if node.forked { "fork" } else { "spawn" };
        let run = match self.subagents.start(provider, request).await {
            Ok(run) => run.downcast::<AgentRun>().unwrap(),
            Err(error) => return format!("refused: {error}"),
        };
        let (mut runs, mut own) = (1, 0);
        let mut settled = settled(run, &node, !node.warm).await;
        own += written(&settled);
        if node.warm {
            runs += 1;
            let resumed = settled.resume(task).await.unwrap();
            settled = self::settled(resumed, &node, true).await;
            own += written(&settled);
        }
        let reason = settled.result().unwrap().stop_reason().to_string();
        let session = settled.run().session().clone();
        self.children.lock().unwrap().insert(node.id, Was { session, parent, seed, runs, own });
        settled.dispose().await.unwrap();
        reason
    }
}

fn written<O>(settled: &Settled<AgentRun, O>) -> u64 {
    let usage = settled.result().unwrap().usage().clone();
    usage.own.iter().filter_map(|usage| usage.output_tokens).sum()
}

/// Waits for the run, and cancels it at its last word if that is how it is to end.
async fn settled<O>(run: Live<AgentRun, O>, node: &Node, at_work: bool) -> Settled<AgentRun, O> {
    if at_work && node.end == End::Cancelled {
        let mut updates = run.updates();
        while let Some(update) = updates.next().await {
            if matches!(&*update.unwrap(), Update::Text { .. }) {
                run.cancel("enough");
                break;
            }
        }
    }
    run.settle().await
}

async fn check(tree: Node) -> Result<(), TestCaseError> {
    let (model, ledger) = (model(), UsageLedger::new());
    let world = World { subagents: Subagents::new(), children: Arc::default() };
    let spawn = world.subagents.register("spawn", Spawn::new(model.clone())).unwrap();
    let fork =
        world.subagents.register("fork", Fork::builder().default_model(model.clone()).build()).unwrap();
    let (events, _subscription) = recorded(&world.subagents);
    let below = world.clone();
    let delegate = tool_fn("delegate", "Delegates.", json!({}), move |node, context| {
        let (below, parent) = (below.clone(), Parent::from(&context));
        async move { below.delegate(parent, serde_json::from_value(node).unwrap()).await }
    });
    let top = Parent::new("top", "top")
        .with_tools(tools(&TOOLS).with(delegate).unwrap())
        .with_usage(ledger.clone())
        .with_log(
            subagent::agent::SessionWriter::new(subagent::agent::SessionHeader::new("top".into()))
                .session()
                .clone(),
        );
    world.delegate(top, tree).await;

    let children = world.children.lock().unwrap();
    let mut used: BTreeMap<u32, BTreeSet<String>> = BTreeMap::new();
    for request in model.requests() {
        used.entry(task(&request).0.id).or_default().extend(shown(&request));
    }
    for (id, Was { session, parent, seed, .. }) in &*children {
        let header = session.header();
        prop_assert_eq!(header.seed_length, *seed);
        // Authority: never more than the parent's.
        prop_assert_eq!(header.depth, parent.depth() + 1);
        let cap = header.max_depth.unwrap();
        prop_assert!(header.depth <= cap && parent.max_depth().is_none_or(|above| cap <= above));
        if let Some(above) = parent.agent().and_then(|agent| agent.session.header().max_steps) {
            prop_assert!(header.max_steps.unwrap() <= above);
        }
        if let Some(above) = parent.agent().and_then(|agent| agent.session.header().max_output_tokens) {
            prop_assert!(header.max_output_tokens.unwrap() <= above);
        }
        let offered: BTreeSet<String> = parent.tools().unwrap().names().map(Into::into).collect();
        prop_assert!(used.get(id).is_none_or(|used| used.is_subset(&offered)), "{used:?} of {offered:?}");
        let permits =
            |filter: Option<&ToolFilter>, name: &str| filter.is_none_or(|filter| filter.permits(name));
        for name in TOOLS {
            let permitted = permits(header.tool_filter.as_ref(), name);
            prop_assert!(!permitted || permits(parent.tool_filter(), name), "{name} was denied above");
            prop_assert!(
                permitted || used.get(id).is_none_or(|used| !used.contains(name)),
                "{name} is denied"
            );
        }
        // The log: valid, ended, and its own.
        let mut log = Vec::new();
        session.write_json_lines(&mut log).unwrap();
        prop_assert!(Session::read_json_lines(log.as_slice()).is_ok());
        let last = session.snapshot().events().last().map(|event| event.kind.clone());
        prop_assert!(matches!(last, Some(SessionEventKind::TurnEnd { .. })), "{last:?}");
        prop_assert_eq!(header.parent.as_ref(), Some(parent.session_id()));
    }
    // Usage: what all runs used on their own is what all model calls used, and what the top was told.
    let own: u64 = children.values().map(|was| was.own).sum();
    prop_assert_eq!(own, TOKENS * model.requests().len() as u64);
    let told: u64 = ledger.usage().descendants.iter().filter_map(|usage| usage.output_tokens).sum();
    prop_assert_eq!(told, own);
    // Events: one pair for each run, in order; nothing is left.
    let mut runs: BTreeMap<RunId, Vec<&str>> = BTreeMap::new();
    for event in &*events.lock().unwrap() {
        match event {
            Event::Started(started) => runs.entry(started.run.run_id).or_default().push("started"),
            Event::Ended(ended) => runs.entry(ended.run.run_id).or_default().push("ended"),
            _ => {}
        }
    }
    prop_assert_eq!(runs.len(), children.values().map(|was| was.runs).sum::<usize>());
    prop_assert!(runs.values().all(|events| events == &["started", "ended"]), "{runs:?}");
    prop_assert!(world.subagents.runs().is_empty());
    prop_assert!(spawn.provider().sessions().is_empty() && fork.provider().sessions().is_empty());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn authority_logs_events_and_usage_hold_in_every_tree(tree in tree()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(tree))?;
    }
}
