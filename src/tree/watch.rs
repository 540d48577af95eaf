use std::collections::VecDeque;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::build::{self, Placeless};
use super::{RunTree, TreeSummary};
use crate::event::{Event, RunEnded};
use crate::registry::{Hub, Subagents, Subscription};
use crate::sync::lock;

/// How many finished runs are kept, unless somebody says.
const KEPT: NonZeroUsize = NonZeroUsize::new(100).expect("not zero");

impl Subagents {
    /// The runs that have not settled, as a tree: those that start or wait for their turn included.
    #[must_use]
    pub fn tree(&self) -> RunTree {
        build::tree(build::live(self.hub()))
    }

    /// Keeps the runs that finish from now on, for [`TreeWatch::tree`].
    pub fn watch_tree(&self) -> TreeWatch {
        TreeWatch::new(self, KEPT)
    }
}

/// Keeps the runs that finished most recently, as long as it lives.
#[must_use = "dropping a `TreeWatch` forgets the finished runs; keep it as long as they are to be seen"]
pub struct TreeWatch {
    subagents: Subagents,
    finished: Arc<Mutex<Finished>>,
    since: Instant,
    _subscription: Subscription,
}

struct Finished {
    runs: VecDeque<Placeless>,
    most: NonZeroUsize,
    sums: TreeSummary,
}

impl TreeWatch {
    fn new(subagents: &Subagents, most: NonZeroUsize) -> Self {
        let sums = TreeSummary::default();
        let finished = Arc::new(Mutex::new(Finished { runs: VecDeque::new(), most, sums }));
        let (kept, hub) = (Arc::clone(&finished), Arc::downgrade(subagents.hub()));
        let subscription = subagents.subscribe(move |event| {
            if let (Event::Ended(ended), Some(hub)) = (event, hub.upgrade()) {
                keep(&kept, ended, &hub);
            }
        });
        let subagents = subagents.clone();
        Self { subagents, finished, since: Instant::now(), _subscription: subscription }
    }

    /// Sets how many finished runs are kept, 100 by default. The earliest are forgotten first; the summary counts
    /// them all the same.
    pub fn keep(self, most: NonZeroUsize) -> Self {
        let forgotten = {
            let mut finished = lock(&self.finished);
            finished.most = most;
            finished.forget()
        };
        drop(forgotten);
        self
    }

    /// The live runs and the finished ones that are kept.
    #[must_use]
    pub fn tree(&self) -> RunTree {
        // The live ones first: who settles between the two looks is seen twice, and not missed.
        let mut runs = build::live(self.subagents.hub());
        let finished: Vec<_> = lock(&self.finished).runs.iter().cloned().collect();
        runs.retain(|live| finished.iter().all(|ended| ended.id() != live.id()));
        runs.extend(finished);
        build::tree(runs)
    }

    /// All runs that ended since the watch began, in numbers.
    #[must_use]
    pub fn summary(&self) -> TreeSummary {
        let mut summary = lock(&self.finished).sums.clone();
        summary.live = self.subagents.runs().len();
        summary.elapsed = self.since.elapsed();
        summary
    }
}

fn keep(kept: &Mutex<Finished>, ended: &RunEnded, hub: &Hub) {
    let glimpse = hub.run(ended.run.run_id).map(|cell| cell.glimpse());
    let run = Placeless::ended(ended, glimpse);
    let forgotten = {
        let mut finished = lock(kept);
        finished.sums.count(&ended.stop_reason, run.tokens());
        finished.runs.push_back(run);
        finished.forget()
    };
    drop(forgotten);
}

impl Finished {
    fn forget(&mut self) -> Vec<Placeless> {
        let many = self.runs.len().saturating_sub(self.most.get());
        self.runs.drain(..many).collect()
    }
}

impl fmt::Debug for TreeWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeWatch").field("summary", &self.summary()).finish_non_exhaustive()
    }
}
