use serde_json::Value;
use tokio_util::task::TaskTracker;

use super::capture::Capture;
use crate::agent::{ToolDefinition, ToolOutput};

/// The tools that a child is offered.
pub(super) struct Offered {
    capture: Option<Capture>,
    /// The calls that are under way.
    calls: TaskTracker,
}

impl Offered {
    pub(super) fn new(capture: Option<Capture>) -> Self {
        Self { capture, calls: TaskTracker::new() }
    }

    pub(super) fn capture(&self) -> Option<&Capture> {
        self.capture.as_ref()
    }

    pub(super) fn definitions(&self) -> Vec<ToolDefinition> {
        self.capture.iter().map(Capture::definition).collect()
    }

    pub(super) async fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        self.calls.track_future(self.run(name, arguments)).await
    }

    #[expect(clippy::unused_async, reason = "tools of the parent wait")]
    async fn run(&self, name: &str, arguments: Value) -> ToolOutput {
        match &self.capture {
            Some(capture) if capture.tool() == name => capture.call(arguments),
            _ => {
                let known: Vec<_> = self.definitions().into_iter().map(|tool| tool.name).collect();
                ToolOutput::error(format!(
                    "There is no tool named `{name}`. Known tools: {}.",
                    known.join(", ")
                ))
            }
        }
    }

    /// Waits for the calls that are under way.
    pub(super) async fn wait(&self) {
        self.calls.close();
        self.calls.wait().await;
    }
}
