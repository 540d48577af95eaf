use std::collections::HashMap;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use super::text::{line, lines};
use super::{RunNode, RunTree, TreeWatch};
use crate::id::RunId;
use crate::registry::{RunState, Subagents};
use crate::run::has_timer;

/// How often the tree is looked at.
const EVERY: Duration = Duration::from_millis(100);

/// How often a live run is told of again where lines are not drawn over.
const STILL: Duration = Duration::from_secs(10);

const SPINNER: [&str; 10] = ["⠋ ", "⠙ ", "⠹ ", "⠸ ", "⠼ ", "⠴ ", "⠦ ", "⠧ ", "⠇ ", "⠏ "];

/// Shows the runs while work goes on: in a terminal one block that is drawn again and again, elsewhere a line for
/// each change, and one every ten seconds for each run that is still live.
///
/// What else is written to the same terminal meanwhile disturbs the block. What cannot be written is left out: a
/// closed pipe does not hurt the work.
pub struct TreeView<W> {
    watch: TreeWatch,
    out: W,
    terminal: bool,
    width: usize,
    height: usize,
    /// How many lines of the block stand there.
    drawn: usize,
    frame: usize,
    /// What was told of each run in the tree, and when.
    told: HashMap<RunId, (RunState, Instant)>,
}

impl TreeView<io::Stdout> {
    /// A view on the standard output.
    #[must_use]
    pub fn stdout(subagents: &Subagents) -> Self {
        Self::new(subagents, io::stdout(), io::stdout().is_terminal())
    }
}

impl TreeView<io::Stderr> {
    /// A view on the standard error, which leaves the standard output to the program's own.
    #[must_use]
    pub fn stderr(subagents: &Subagents) -> Self {
        Self::new(subagents, io::stderr(), io::stderr().is_terminal())
    }
}

impl<W: Write + Send> TreeView<W> {
    /// A view on anything; `terminal` says whether it understands the escape codes of terminals.
    pub fn new(subagents: &Subagents, out: W, terminal: bool) -> Self {
        let set = |name| std::env::var(name).ok().and_then(|value| value.parse::<usize>().ok());
        Self {
            watch: subagents.watch_tree(),
            out,
            terminal,
            width: set("COLUMNS").unwrap_or(100),
            height: set("LINES").unwrap_or(24).saturating_sub(2),
            drawn: 0,
            frame: 0,
            told: HashMap::new(),
        }
    }

    /// Sets how many characters wide and how many lines high the block may be. By default it is what `COLUMNS` and
    /// `LINES` in the environment say, else 100 and 22.
    #[must_use]
    pub fn size(mut self, width: usize, height: usize) -> Self {
        (self.width, self.height) = (width, height);
        self
    }

    /// Does the work, and shows the runs meanwhile. When it is done, the last look stays.
    ///
    /// On a Tokio runtime without a timer, only that last look is shown.
    ///
    /// # Cancel safety
    ///
    /// Dropped, the work is dropped with it. The terminal is left as it is, the block half way.
    pub async fn during<F: Future>(&mut self, work: F) -> F::Output {
        let mut work = pin!(work);
        let done = if has_timer() {
            let mut ticks = tokio::time::interval(EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    biased;
                    done = &mut work => break done,
                    _ = ticks.tick() => self.show(),
                }
            }
        } else {
            work.await
        };
        self.show();
        self.drawn = 0;
        done
    }

    /// The watch behind the view: its tree, its summary.
    pub fn watch(&self) -> &TreeWatch {
        &self.watch
    }

    fn show(&mut self) {
        let tree = self.watch.tree();
        let text = if self.terminal { self.block(&tree) } else { self.changes(&tree) };
        // Nobody is there to hear of it.
        self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).ok();
    }

    /// Draws over the block before.
    fn block(&mut self, tree: &RunTree) -> String {
        self.frame += 1;
        let turning = SPINNER[self.frame % SPINNER.len()];
        let mut lines = lines(tree, self.width, |node| match &node.stop_reason {
            None => turning,
            Some(reason) if reason.is_completed() => "✓ ",
            Some(_) => "✗ ",
        });
        if lines.len() > self.height {
            // The latest are at the end.
            let cut = lines.len() - self.height.saturating_sub(1);
            lines.drain(..cut);
            lines.insert(0, format!("… {cut} lines above"));
        }
        let mut text = match std::mem::replace(&mut self.drawn, lines.len()) {
            0 => String::new(),
            before => format!("\x1b[{before}A\r"),
        };
        // Without line breaks at the terminal's edge, and without what stood there before.
        text.push_str("\x1b[?7l");
        for line in &lines {
            text.push_str(line);
            text.push_str("\x1b[K\n");
        }
        text.push_str("\x1b[J\x1b[?7h");
        text
    }

    /// What happened since the look before.
    fn changes(&mut self, tree: &RunTree) -> String {
        let now = Instant::now();
        let mut text = String::new();
        let mut told = HashMap::new();
        for node in tree.iter() {
            let id = node.run.run_id;
            let before = self.told.remove(&id);
            let state = told_as(node);
            let at = match before {
                Some((earlier, at)) if earlier == state && (node.is_settled() || at + STILL > now) => at,
                _ => {
                    text.push_str(&"  ".repeat(node.run.depth.saturating_sub(1).min(8) as usize));
                    text.push_str(&line(node, self.width));
                    text.push('\n');
                    now
                }
            };
            told.insert(id, (state, at));
        }
        self.told = told;
        text
    }
}

/// A run that is just ending is told of when it has ended.
fn told_as(node: &RunNode) -> RunState {
    match node.state {
        RunState::Ending => RunState::Live,
        state => state,
    }
}

impl<W> fmt::Debug for TreeView<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TreeView")
            .field("terminal", &self.terminal)
            .field("watch", &self.watch)
            .finish_non_exhaustive()
    }
}
