use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Notify;

use crate::content::Output;
use crate::result::Outcome;
use crate::update::Update;

/// What a scripted child does, step by step. A script without an end hangs until it is cancelled or disposed of.
///
/// ```
/// use std::time::Duration;
/// use subagent::Outcome;
/// use subagent::testing::Script;
///
/// let script = Script::new().text("Looking…").wait(Duration::from_secs(1)).settle(Outcome::completed("Found it"));
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a script does nothing until a `ScriptedProvider` plays it"]
pub struct Script {
    pub(super) in_start: Vec<Step>,
    pub(super) steps: Vec<Step>,
    pub(super) ignores_cancel: bool,
    pub(super) dispose: DisposeStep,
}

#[derive(Debug, Clone)]
pub(super) enum Step {
    Report(Update),
    Wait(Duration),
    WaitFor(Arc<Notify>),
    Receive,
    Settle(Box<Outcome>),
    LoseSettlement,
    Panic(String),
    Fail(String),
    Hang,
}

#[derive(Debug, Clone, Default)]
pub(super) enum DisposeStep {
    #[default]
    Succeed,
    Fail(String),
    Panic(String),
    Wait(Duration),
}

impl Script {
    /// A script without steps.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports an update.
    pub fn update(self, update: Update) -> Self {
        self.step(Step::Report(update))
    }

    /// Reports a piece of text.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.update(Update::text(text))
    }

    /// Reports a tool call.
    pub fn tool_call(self, id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        self.update(Update::tool_call(id, name, arguments))
    }

    /// Waits on Tokio's clock.
    pub fn wait(self, time: Duration) -> Self {
        self.step(Step::Wait(time))
    }

    /// Waits until the test notifies it.
    pub fn wait_for(self, event: &Arc<Notify>) -> Self {
        self.step(Step::WaitFor(Arc::clone(event)))
    }

    /// Waits for a message of whoever steers the run.
    pub fn receive(self) -> Self {
        self.step(Step::Receive)
    }

    /// Ends: settles with this outcome.
    pub fn settle(self, outcome: Outcome) -> Self {
        self.step(Step::Settle(Box::new(outcome)))
    }

    /// Ends: settles as completed.
    pub fn complete(self, output: impl Into<Output>) -> Self {
        self.settle(Outcome::completed(output))
    }

    /// Ends: drops its settlement without settling.
    pub fn lose_settlement(self) -> Self {
        self.step(Step::LoseSettlement)
    }

    /// Ends: panics.
    pub fn panic(self, message: impl Into<String>) -> Self {
        self.step(Step::Panic(message.into()))
    }

    /// Never goes on, and does not listen to a cancellation.
    pub fn hang(mut self) -> Self {
        self.ignores_cancel = true;
        self.step(Step::Hang)
    }

    /// Goes on when it is cancelled, as a wedged child does.
    pub fn ignore_cancel(mut self) -> Self {
        self.ignores_cancel = true;
        self
    }

    /// Plays all steps so far inside the provider's `start`; those that follow are the child's.
    pub fn in_start(mut self) -> Self {
        self.in_start.append(&mut self.steps);
        self
    }

    /// Fails the start, inside the provider's `start`.
    pub fn fail_start(self, message: impl Into<String>) -> Self {
        self.step(Step::Fail(message.into())).in_start()
    }

    /// Makes the disposal fail, after it has ended the child.
    pub fn fail_dispose(mut self, message: impl Into<String>) -> Self {
        self.dispose = DisposeStep::Fail(message.into());
        self
    }

    /// Makes the disposal panic, after it has ended the child.
    pub fn panic_in_dispose(mut self, message: impl Into<String>) -> Self {
        self.dispose = DisposeStep::Panic(message.into());
        self
    }

    /// Makes the disposal take this long on Tokio's clock.
    pub fn slow_dispose(mut self, time: Duration) -> Self {
        self.dispose = DisposeStep::Wait(time);
        self
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }
}
