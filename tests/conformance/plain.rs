//! A plain provider, written by hand: a thread of its own for each child, no capabilities. Its children know nothing of
//! Tokio's clock, so the suite runs in real time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use subagent::testing::conformance::{Behaviour, Fixture, Staged};
use subagent::{DisposeError, Outcome, Provider, Run, Settlement, StartError, StartRequest, StopReason};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

pub(crate) struct Threads {
    behaviour: Behaviour,
    live: Arc<AtomicUsize>,
}

subagent::supports!(Threads:);

impl Provider for Threads {
    type Run = ThreadRun;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<ThreadRun, StartError> {
        let (behaviour, live, end) = (self.behaviour, Arc::clone(&self.live), CancellationToken::new());
        let (ended, wait) = oneshot::channel();
        let run = ThreadRun { end: end.clone(), ended: Some(wait) };
        live.fetch_add(1, Ordering::SeqCst);
        let ends = Ends(live, Some(ended));
        std::thread::spawn(move || {
            // Dropped last: the settlement comes before the end of the child.
            let _ends = ends;
            child(behaviour, &end, settlement);
        });
        match behaviour {
            Behaviour::FailsToStart => {
                run.dispose().await.ok();
                Err(StartError::failed(format!("{} did not shake hands", request.run_id())))
            }
            Behaviour::HangsInStart => std::future::pending().await,
            _ => Ok(run),
        }
    }
}

fn child(behaviour: Behaviour, end: &CancellationToken, settlement: Settlement) {
    let cancellation = settlement.cancellation();
    let progress = settlement.progress();
    match behaviour {
        Behaviour::Completes => settlement.complete(behaviour.text()),
        Behaviour::Fails => settlement.settle(Outcome::error("the disk is full")),
        Behaviour::Panics => panic!("a child panics"),
        _ => {
            progress.text(behaviour.text());
            let heeds = behaviour != Behaviour::IgnoresCancel;
            while !(end.is_cancelled() || heeds && cancellation.is_cancelled()) {
                std::thread::sleep(Duration::from_millis(1));
            }
            settlement.settle(Outcome::new(StopReason::Aborted));
        }
    }
}

struct Ends(Arc<AtomicUsize>, Option<oneshot::Sender<()>>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
        if let Some(ended) = self.1.take() {
            ended.send(()).ok();
        }
    }
}

pub(crate) struct ThreadRun {
    end: CancellationToken,
    ended: Option<oneshot::Receiver<()>>,
}

impl Run for ThreadRun {
    subagent::not_steerable!();
    subagent::not_resumable!();

    async fn dispose(mut self) -> Result<(), DisposeError> {
        self.end.cancel();
        match self.ended.take() {
            Some(ended) => ended.await.map_err(DisposeError::failed),
            None => Ok(()),
        }
    }
}

impl Drop for ThreadRun {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

struct Plain;

impl Fixture for Plain {
    type Provider = Threads;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Threads>> {
        let shown = !self.cannot_show().iter().any(|(cannot, _)| *cannot == behaviour)
            && !matches!(behaviour, Behaviour::Receives | Behaviour::FollowsUp);
        let live = Arc::new(AtomicUsize::new(0));
        let provider = Threads { behaviour, live: Arc::clone(&live) };
        shown.then(|| Staged::new(provider, move || live.load(Ordering::SeqCst)))
    }

    fn cannot_show(&self) -> Vec<(Behaviour, &'static str)> {
        vec![
            (Behaviour::PanicsInStart, "its `start` has nothing that could panic"),
            (Behaviour::SettlesInStart, "its children settle on a thread of their own"),
            (Behaviour::FailsToDispose, "the end of a thread cannot fail"),
        ]
    }

    fn patience(&self) -> Duration {
        // A twentieth of it is the grace for the child that hears nothing.
        Duration::from_secs(8)
    }
}

subagent::conformance!(threads, Plain);
