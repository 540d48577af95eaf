//! A child that says of each message that it has seen it.

use subagent::{
    ContentBlock, DisposeError, InboxSender, Outcome, Provider, Run, Settlement, StartError, StartRequest,
    SteerError, Steerable,
};
use tokio::sync::mpsc::UnboundedSender;

pub struct Steered(pub UnboundedSender<()>);
subagent::supports!(Steered:);

pub struct SteeredRun {
    inbox: InboxSender,
    child: tokio::task::JoinHandle<()>,
}

impl Provider for Steered {
    type Run = SteeredRun;

    async fn start(&self, _request: StartRequest, settlement: Settlement) -> Result<SteeredRun, StartError> {
        let (sender, mut inbox) = settlement.inbox();
        let seen = self.0.clone();
        let child = tokio::spawn(async move {
            while inbox.recv().await.is_some() {
                seen.send(()).ok();
            }
            settlement.settle(Outcome::completed("ok"));
        });
        Ok(SteeredRun { inbox: sender, child })
    }
}

impl Run for SteeredRun {
    subagent::steerable!();
    subagent::not_resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        self.child.await.ok();
        Ok(())
    }
}

impl Steerable for SteeredRun {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.inbox.send(content)
    }
}
