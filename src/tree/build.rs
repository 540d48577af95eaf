//! From a list of runs to a tree of them.

use std::collections::HashMap;

use tokio::time::Instant;

use super::text::shown_line;
use super::{RunNode, RunTree};
use crate::event::RunEnded;
use crate::id::RunId;
use crate::registry::{Hub, RunState};
use crate::run::{Glimpse, RunCell};
use crate::usage::Tokens;

/// A run before it has its place.
#[derive(Debug, Clone)]
pub(super) struct Placeless {
    started: Option<Instant>,
    node: RunNode,
}

impl Placeless {
    /// A run that has not settled; `None` where it has meanwhile.
    fn live(cell: &RunCell, now: Instant) -> Option<Self> {
        let glimpse = cell.glimpse();
        let state = RunState::from(glimpse.phase);
        if state == RunState::Settled {
            return None;
        }
        let Glimpse { started, last_activity, tokens, last_line, .. } = glimpse;
        let since = |earlier| now.saturating_duration_since(earlier);
        let node = RunNode {
            run: cell.identity.clone(),
            state,
            stop_reason: None,
            elapsed: started.map(since),
            quiet: last_activity.map(since).unwrap_or_default(),
            input_tokens: tokens.input,
            output_tokens: tokens.output,
            last_line,
            diagnostic: None,
            children: Vec::new(),
        };
        Some(Self { started, node })
    }

    /// A run that ends now.
    pub(super) fn ended(ended: &RunEnded, glimpse: Option<Glimpse>) -> Self {
        let started = glimpse.as_ref().and_then(|glimpse| glimpse.started);
        let said = Tokens::of(&ended.usage.own);
        let seen = glimpse.map(|glimpse| glimpse.tokens).unwrap_or_default();
        let text = ended.output.as_ref().map(|output| output.to_text()).unwrap_or_default();
        let last_line = text.lines().rev().find(|line| !line.trim().is_empty()).map(shown_line);
        let node = RunNode {
            run: ended.run.clone(),
            state: RunState::Settled,
            stop_reason: Some(ended.stop_reason.clone()),
            elapsed: started.map(|started| started.elapsed()),
            quiet: std::time::Duration::ZERO,
            input_tokens: said.input.or(seen.input),
            output_tokens: said.output.or(seen.output),
            last_line,
            diagnostic: ended.diagnostic.as_deref().map(shown_line),
            children: Vec::new(),
        };
        Self { started, node }
    }

    pub(super) fn id(&self) -> RunId {
        self.node.run.run_id
    }

    pub(super) fn tokens(&self) -> Tokens {
        Tokens { input: self.node.input_tokens, output: self.node.output_tokens }
    }
}

/// The runs that have not settled.
pub(super) fn live(hub: &Hub) -> Vec<Placeless> {
    let now = Instant::now();
    hub.runs().iter().filter_map(|cell| Placeless::live(cell, now)).collect()
}

/// Puts each run below the one that it was started in.
pub(super) fn tree(mut runs: Vec<Placeless>) -> RunTree {
    runs.sort_by_key(|run| (run.started.is_none(), run.started, run.id()));
    let parents = parents(&runs);
    let mut below: Vec<Vec<RunNode>> = runs.iter().map(|_| Vec::new()).collect();
    let mut roots = Vec::new();
    // A child is deeper than its parent: the deepest first, each has its children before it is put in place.
    let mut order: Vec<_> = (0..runs.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse((runs[at].node.run.depth, at)));
    let mut nodes: Vec<_> = runs.into_iter().map(|run| Some(run.node)).collect();
    for at in order {
        let Some(mut node) = nodes[at].take() else { continue };
        node.children = std::mem::take(&mut below[at]);
        // The latest of them came first.
        node.children.reverse();
        match parents[at] {
            Some(parent) => below[parent].push(node),
            None => roots.push((at, node)),
        }
    }
    roots.sort_by_key(|(at, _)| *at);
    RunTree { roots: roots.into_iter().map(|(_, node)| node).collect() }
}

/// Where in the list each run's parent is.
fn parents(runs: &[Placeless]) -> Vec<Option<usize>> {
    let at: HashMap<RunId, usize> = runs.iter().enumerate().map(|(at, run)| (run.id(), at)).collect();
    let mut followed: HashMap<RunId, Vec<usize>> = HashMap::new();
    for (index, run) in runs.iter().enumerate() {
        followed.entry(first_run(run, runs, &at)).or_default().push(index);
    }
    let parent = |run: &Placeless| {
        // Of an agent that was resumed, the run in which it started this one.
        let turns = followed.get(&run.node.run.parent_run()?)?;
        let fits = |&&turn: &&usize| {
            let parent = &runs[turn];
            parent.node.run.depth < run.node.run.depth
                && run.started.is_none_or(|started| parent.started.is_some_and(|parent| parent <= started))
        };
        turns.iter().rfind(fits).copied()
    };
    runs.iter().map(parent).collect()
}

/// The run that the agent of this one was started in.
fn first_run(run: &Placeless, runs: &[Placeless], at: &HashMap<RunId, usize>) -> RunId {
    let mut run = &run.node.run;
    // Not for ever, should ids have been used twice.
    for _ in 0..runs.len() {
        let Some(earlier) = run.resumed_from else { return run.run_id };
        let Some(&earlier_at) = at.get(&earlier) else { return earlier };
        run = &runs[earlier_at].node.run;
    }
    run.run_id
}
