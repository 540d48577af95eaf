use std::sync::Mutex;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::capture::Capture;
use crate::agent::{OutsideAgent, ToolDefinition, ToolOutput};
use crate::sync::lock;

/// The tools that a child is offered.
pub(super) struct Offered {
    capture: Option<Capture>,
    /// The child, as the tools of this program that it is offered see it.
    caller: Option<OutsideAgent>,
    /// Fires when the turn that is under way ends; `None` while there is none.
    turn: Mutex<Option<CancellationToken>>,
    /// The calls that are under way.
    calls: TaskTracker,
}

impl Offered {
    pub(super) fn new(capture: Option<Capture>, caller: Option<OutsideAgent>) -> Self {
        Self { capture, caller, turn: Mutex::new(None), calls: TaskTracker::new() }
    }

    pub(super) fn capture(&self) -> Option<&Capture> {
        self.capture.as_ref()
    }

    pub(super) fn caller(&self) -> Option<&OutsideAgent> {
        self.caller.as_ref()
    }

    pub(super) fn definitions(&self) -> Vec<ToolDefinition> {
        let of_parent = self.caller.iter().flat_map(OutsideAgent::definitions).cloned();
        of_parent.chain(self.capture.as_ref().map(Capture::definition)).collect()
    }

    /// Tools can be called until the turn ends, by itself or by this token.
    pub(super) fn begin_turn(&self, cut: &CancellationToken) {
        if let Some(caller) = &self.caller {
            caller.begin_turn();
        }
        *lock(&self.turn) = Some(cut.child_token());
    }

    pub(super) fn end_turn(&self) {
        let turn = lock(&self.turn).take();
        if let Some(turn) = turn {
            turn.cancel();
        }
    }

    /// Runs one call; `unwanted` fires if the child gives it up.
    pub(super) async fn call(&self, name: &str, arguments: Value, unwanted: CancellationToken) -> ToolOutput {
        self.calls.track_future(self.run(name, arguments, unwanted)).await
    }

    async fn run(&self, name: &str, arguments: Value, unwanted: CancellationToken) -> ToolOutput {
        let turn = lock(&self.turn).clone();
        let Some(turn) = turn else {
            return ToolOutput::error("The tool was not called: the turn is over.");
        };
        if let Some(capture) = self.capture.as_ref().filter(|capture| capture.tool() == name) {
            return capture.call(arguments);
        }
        let Some(caller) = self.caller.as_ref().filter(|caller| caller.offers(name)) else {
            let known: Vec<_> = self.definitions().into_iter().map(|tool| tool.name).collect();
            return ToolOutput::error(format!(
                "There is no tool named `{name}`. Known tools: {}.",
                known.join(", ")
            ));
        };
        let cancellation = turn.child_token();
        let call = caller.call(name, arguments, cancellation.clone());
        tokio::pin!(call);
        tokio::select! {
            biased;
            output = &mut call => return output,
            () = unwanted.cancelled() => cancellation.cancel(),
        }
        call.await
    }

    /// Ends the calls that are under way, and waits for that.
    pub(super) async fn close(&self) {
        self.end_turn();
        self.calls.close();
        self.calls.wait().await;
        if let Some(caller) = &self.caller {
            caller.close().await;
        }
    }
}
