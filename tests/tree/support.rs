use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use subagent::testing::{Script, ScriptedProvider};
use subagent::tree::{RunNode, RunTree};
use subagent::{ModelUsage, Outcome, Provider, ProviderHandle, Subagents, Update};

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) fn registered<P: Provider>(
    subagents: &Subagents,
    name: &'static str,
    provider: P,
) -> ProviderHandle<P> {
    subagents.register(name, provider).unwrap().leave_registered()
}

/// Says two lines and what it read, works for this long, and is done.
pub(crate) fn worker(works: Duration) -> ScriptedProvider {
    ScriptedProvider::new(
        Script::new()
            .text("I begin.\nI look ar")
            .text("ound.\n")
            .update(Update::Usage(ModelUsage::new("m", 1200, 30)))
            .update(Update::Usage(ModelUsage::new("n", 34, 4)))
            .wait(works)
            .settle(Outcome::completed("All done.\n42 files.")),
    )
}

/// The names of all runs, each with those below it.
pub(crate) fn names(tree: &RunTree) -> String {
    fn name(node: &RunNode) -> String {
        let own = node.run.agent_type.as_deref().unwrap_or("?");
        let below: Vec<_> = node.children.iter().map(name).collect();
        if below.is_empty() { own.to_owned() } else { format!("{own}({})", below.join(" ")) }
    }
    tree.roots.iter().map(name).collect::<Vec<_>>().join(" ")
}

/// Keeps what is written.
#[derive(Clone, Default)]
pub(crate) struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
