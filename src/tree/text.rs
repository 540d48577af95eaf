//! How a tree is written.

use std::fmt;
use std::time::Duration;

use super::{RunNode, RunTree};
use crate::registry::{RunState, is_unseen};

/// How much of a line is kept, in characters.
const KEPT: usize = 200;

/// How wide a line of the text form is at most.
const WIDTH: usize = 120;

/// How long a child reports nothing until that is said.
const QUIET: Duration = Duration::from_secs(5);

impl fmt::Display for RunTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = lines(self, WIDTH, |_| "");
        f.write_str(&lines.join("\n"))
    }
}

/// The end of a line that a child said, or of all its lines in one, without what would move a cursor.
pub(crate) fn shown_line(text: &str) -> String {
    let one: String = text.trim().chars().map(|char| if char.is_whitespace() { ' ' } else { char }).collect();
    end(&one.replace(is_unseen, ""), KEPT)
}

/// The last `most` characters.
fn end(text: &str, most: usize) -> String {
    let many = text.chars().count();
    if many <= most {
        return text.to_owned();
    }
    let kept = text.chars().skip(many.saturating_sub(most.saturating_sub(1)));
    std::iter::once('…').chain(kept).collect()
}

/// A line for each run, and one for each agent that is no run; `mark` goes before a run.
pub(super) fn lines(tree: &RunTree, width: usize, mark: impl Fn(&RunNode) -> &'static str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut done = vec![false; tree.roots.len()];
    for first in 0..tree.roots.len() {
        if done[first] {
            continue;
        }
        let agent = &tree.roots[first].run.parent_agent_id;
        let group: Vec<_> = (first..tree.roots.len())
            .filter(|&at| !done[at] && tree.roots[at].run.parent_agent_id == *agent)
            .collect();
        let indent = agent.as_ref().map(|agent| {
            lines.push(shown_line(agent.as_str()));
            ""
        });
        for &at in &group {
            done[at] = true;
            let last = Some(&at) == group.last();
            branch(&tree.roots[at], indent, last, width, &mark, &mut lines);
        }
    }
    lines
}

/// A run and those below it; `indent` is `None` where no line leads to it.
fn branch(
    node: &RunNode,
    indent: Option<&str>,
    last: bool,
    width: usize,
    mark: &impl Fn(&RunNode) -> &'static str,
    lines: &mut Vec<String>,
) {
    let (lead, below) = match indent {
        None => (String::new(), String::new()),
        Some(indent) => (
            format!("{indent}{}", if last { "└─ " } else { "├─ " }),
            format!("{indent}{}", if last { "   " } else { "│  " }),
        ),
    };
    let start = format!("{lead}{}", mark(node));
    let room = width.saturating_sub(start.chars().count());
    lines.push(format!("{start}{}", line(node, room)));
    for (at, child) in node.children.iter().enumerate() {
        branch(child, Some(&below), at + 1 == node.children.len(), width, mark, lines);
    }
}

/// All about one run, in at most `room` characters as far as its text goes.
pub(super) fn line(node: &RunNode, room: usize) -> String {
    let state = match (&node.stop_reason, node.state) {
        (Some(reason), _) => shown_line(reason.as_str()),
        (None, RunState::Starting) => "starting".to_owned(),
        (None, RunState::Live) => "live".to_owned(),
        (None, RunState::Ending | RunState::Settled) => "ending".to_owned(),
    };
    let mut facts = vec![match node.elapsed {
        Some(elapsed) => format!("{state} {}", seconds(elapsed)),
        None => state,
    }];
    facts.extend(counted(node.input_tokens, node.output_tokens));
    if node.quiet >= QUIET {
        facts.push(format!("quiet for {}", seconds(node.quiet)));
    }
    if node.run.resumed_from.is_some() {
        facts.push("follow-up".to_owned());
    }
    let provider = shown_line(&node.run.provider);
    let name = match &node.run.agent_type {
        Some(agent_type) => format!("{} ({provider})", shown_line(agent_type)),
        None => provider,
    };
    let about = format!("{name} {}", facts.join(", "));
    let room = room.saturating_sub(about.chars().count() + 2);
    match node.diagnostic.as_ref().or(node.last_line.as_ref()) {
        Some(text) if room > 1 => format!("{about}: {}", end(text, room)),
        _ => about,
    }
}

/// A time, as exact as it is of use.
pub(super) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..=9 => format!("{seconds}.{}s", time.subsec_millis() / 100),
        10..=59 => format!("{seconds}s"),
        60..=3599 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Token counts, where there are any.
pub(super) fn counted(input: Option<u64>, output: Option<u64>) -> Option<String> {
    match (input, output) {
        (None, None) => None,
        (Some(input), None) => Some(format!("{} tokens in", short(input))),
        (None, Some(output)) => Some(format!("{} tokens out", short(output))),
        (Some(input), Some(output)) => Some(format!("{} tokens in, {} out", short(input), short(output))),
    }
}

fn short(count: u64) -> String {
    match count {
        0..=999 => count.to_string(),
        1_000..=999_999 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}
