use std::time::Duration;

use crate::event::RunInfo;
use crate::registry::RunState;
use crate::stop_reason::StopReason;

/// Runs as they were at one moment, each below the run that it was started in.
///
/// Its text form has a line for each run. Text of children is shown without control characters, so it cannot play
/// with a terminal.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RunTree {
    /// The runs that were started in no other run that is in the tree, the earliest first.
    pub roots: Vec<RunNode>,
}

/// One run in a [`RunTree`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunNode {
    /// Which run.
    pub run: RunInfo,
    /// What it was doing.
    pub state: RunState,
    /// Why it stopped, where it has.
    pub stop_reason: Option<StopReason>,
    /// How long it has run, or ran in all; `None` as long as it starts.
    pub elapsed: Option<Duration>,
    /// How long its child has reported nothing; zero where it has settled.
    pub quiet: Duration,
    /// How many tokens its own model calls read, as far as it was reported.
    pub input_tokens: Option<u64>,
    /// How many tokens its own model calls wrote, as far as it was reported.
    pub output_tokens: Option<u64>,
    /// The last line that its child said, or the end of a long one.
    pub last_line: Option<String>,
    /// What went wrong, safe to show.
    pub diagnostic: Option<String>,
    /// The runs that were started in it, the earliest first.
    pub children: Vec<Self>,
}

impl RunTree {
    /// All runs, each before those that were started in it.
    pub fn iter(&self) -> impl Iterator<Item = &RunNode> {
        let mut open: Vec<_> = self.roots.iter().rev().collect();
        std::iter::from_fn(move || {
            let node = open.pop()?;
            open.extend(node.children.iter().rev());
            Some(node)
        })
    }

    /// How many runs there are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there is no run in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }
}

impl RunNode {
    /// Whether the run has settled.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.state == RunState::Settled
    }
}
