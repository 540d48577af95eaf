//! A provider whose children do nothing by themselves: the test settles, steers and fails them by hand.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use subagent::{
    ContentBlock, DepthLimit, DisposeError, Inbox, InboxSender, Outcome, Provider, ResumeError, Run, RunId,
    Settlement, StartError, StartRequest, SteerError, Subagents,
};
use tokio::sync::Notify;

/// What a start or resumption does once it is reached.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a test has few of them")]
pub(crate) enum Begin {
    /// The child works, and the test holds its settlement.
    Work,
    Fail,
    Panic,
    /// The child settles before it is published.
    Settle(Outcome),
    /// The child loses its settlement before it is published.
    Lose,
    /// The provider takes itself off the registry first.
    Unregister,
    /// The start waits until the test lets it go on.
    Wait,
}

/// How a disposal goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum End {
    Quick,
    Slow,
    Fail,
    Panic,
}

// Times that do not add up to one another, so that no two things happen in the same instant.
pub(crate) const SLOW: Duration = Duration::from_millis(1_487);

/// What the test holds of one child.
pub(crate) struct Held {
    pub(crate) settlement: Settlement,
    pub(crate) inbox: Inbox,
}

/// How a run begins and ends, and what lets its start go on.
type Plan = (Begin, End, Arc<Notify>);

/// What all children of a test share.
#[derive(Default)]
pub(crate) struct Stage {
    pub(crate) held: Mutex<HashMap<RunId, Held>>,
    pub(crate) plans: Mutex<HashMap<RunId, Plan>>,
    living: AtomicUsize,
    disposed: AtomicUsize,
}

impl Stage {
    pub(crate) fn living(&self) -> usize {
        self.living.load(Ordering::SeqCst)
    }

    pub(crate) fn disposed(&self) -> usize {
        self.disposed.load(Ordering::SeqCst)
    }

    fn hold(&self, settlement: Settlement) -> InboxSender {
        let (sender, inbox) = settlement.inbox();
        self.held.lock().unwrap().insert(settlement.run_id(), Held { settlement, inbox });
        sender
    }

    fn plan(&self, run: RunId) -> Plan {
        self.plans.lock().unwrap().get(&run).cloned().expect("every run of the test has a plan")
    }
}

pub(crate) struct ByHand {
    pub(crate) name: &'static str,
    pub(crate) stage: Arc<Stage>,
    pub(crate) subagents: Subagents,
}

// It never takes the value: a request that asks for it is refused when the child exists already.
subagent::supports!(ByHand: DepthLimit);

impl Provider for ByHand {
    type Run = HandRun;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<HandRun, StartError> {
        let (begin, end, go_on) = self.stage.plan(request.run_id());
        let alive = Alive::new(&self.stage);
        let inbox = match begin {
            Begin::Work => self.stage.hold(settlement),
            Begin::Fail => return Err(StartError::failed("no child today")),
            Begin::Panic => panic!("the start fell over"),
            Begin::Settle(outcome) => {
                let (sender, _closed) = settlement.inbox();
                settlement.settle(outcome);
                sender
            }
            Begin::Lose => settlement.inbox().0,
            Begin::Unregister => {
                self.subagents.unregister(self.name);
                self.stage.hold(settlement)
            }
            Begin::Wait => {
                go_on.notified().await;
                self.stage.hold(settlement)
            }
        };
        Ok(HandRun { inbox: Mutex::new(inbox), end, alive })
    }
}

pub(crate) struct HandRun {
    inbox: Mutex<InboxSender>,
    end: End,
    alive: Alive,
}

impl Run for HandRun {
    subagent::steerable!();
    subagent::resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        let Self { end, alive, .. } = self;
        match end {
            End::Quick => {}
            End::Slow => tokio::time::sleep(SLOW).await,
            End::Fail => {
                alive.0.disposed.fetch_add(1, Ordering::SeqCst);
                return Err(DisposeError::failed("a file is left"));
            }
            End::Panic => {
                alive.0.disposed.fetch_add(1, Ordering::SeqCst);
                panic!("the disposal fell over");
            }
        }
        alive.0.disposed.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

impl subagent::Steerable for HandRun {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        let inbox = self.inbox.lock().unwrap().clone();
        inbox.send(content)
    }
}

impl subagent::Resumable for HandRun {
    async fn resume(&self, _content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        let (begin, _, _) = self.alive.0.plan(settlement.run_id());
        match begin {
            Begin::Fail => return Err(ResumeError::failed("no follow-up today")),
            Begin::Panic => panic!("the resumption fell over"),
            Begin::Settle(outcome) => settlement.settle(outcome),
            Begin::Lose => drop(settlement),
            Begin::Work | Begin::Unregister | Begin::Wait => {
                let inbox = self.alive.0.hold(settlement);
                *self.inbox.lock().unwrap() = inbox;
            }
        }
        Ok(())
    }
}

/// Counted as long as the child exists.
struct Alive(Arc<Stage>);

impl Alive {
    fn new(stage: &Arc<Stage>) -> Self {
        stage.living.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(stage))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.living.fetch_sub(1, Ordering::SeqCst);
    }
}
