//! What the tests of a run's end share.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use subagent::testing::{Script, ScriptedLog, ScriptedProvider, ScriptedRun};
use subagent::{
    Event, Live, NoOutput, Provider, ProviderHandle, Request, RunId, StartError, StopReason, Subagents,
    Subscription,
};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
/// The default time that a cancelled child has to end by itself.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

pub(crate) type ScriptedLive = Live<ScriptedRun, NoOutput>;

/// A `Subagents` with one scripted provider, and all that is to be seen of it.
pub(crate) struct Rig {
    pub(crate) subagents: Subagents,
    pub(crate) provider: ProviderHandle<ScriptedProvider>,
    pub(crate) log: ScriptedLog,
    pub(crate) events: Events,
}

impl Rig {
    pub(crate) fn new(script: Script) -> Self {
        Self::playing([script])
    }

    pub(crate) fn playing(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self::with(Subagents::new(), ScriptedProvider::playing(scripts))
    }

    pub(crate) fn with_grace(grace: Duration, script: Script) -> Self {
        Self::with(Subagents::builder().cancel_grace(grace).build(), ScriptedProvider::new(script))
    }

    pub(crate) fn with(subagents: Subagents, provider: ScriptedProvider) -> Self {
        let log = provider.log();
        let events = Events::of(&subagents);
        let provider = subagents.register("scripted", provider).unwrap().leave_registered();
        Self { subagents, provider, log, events }
    }

    pub(crate) async fn start(&self) -> ScriptedLive {
        self.started(Request::new("go")).await.unwrap()
    }

    pub(crate) async fn started(&self, request: Request) -> Result<ScriptedLive, StartError> {
        self.provider.start(request).await
    }

    /// Shuts down, and sees that nothing is left: no child, no run, no event without its twin.
    #[track_caller]
    pub(crate) fn leaves_nothing(&self) -> impl Future<Output = ()> {
        let caller = std::panic::Location::caller();
        async move {
            self.subagents.shutdown().await;
            assert_eq!(self.log.live_children(), 0, "children are left at {caller}");
            assert!(self.subagents.runs().is_empty(), "runs are left at {caller}");
            self.events.are_paired();
        }
    }
}

/// A provider of a test's own, registered for good.
pub(crate) fn registered<P: Provider>(provider: P) -> (Subagents, ProviderHandle<P>, Events) {
    let subagents = Subagents::new();
    let events = Events::of(&subagents);
    let provider = subagents.register("custom", provider).unwrap().leave_registered();
    (subagents, provider, events)
}

/// All events of a `Subagents`, as long as this lives.
pub(crate) struct Events {
    told: Arc<Mutex<Vec<Event>>>,
    _subscription: Subscription,
}

impl Events {
    pub(crate) fn of(subagents: &Subagents) -> Self {
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&told);
        let subscription = subagents.subscribe(move |event| sink.lock().unwrap().push(event.clone()));
        Self { told, _subscription: subscription }
    }

    /// The runs that were published, in order.
    pub(crate) fn started(&self) -> Vec<RunId> {
        self.collect(|event| match event {
            Event::Started(started) => Some(started.run.run_id),
            _ => None,
        })
    }

    /// The runs that ended, in order, each with why.
    pub(crate) fn ended(&self) -> Vec<(RunId, StopReason)> {
        self.collect(|event| match event {
            Event::Ended(ended) => Some((ended.run.run_id, ended.stop_reason.clone())),
            _ => None,
        })
    }

    /// Why the runs ended, in order.
    pub(crate) fn reasons(&self) -> Vec<StopReason> {
        self.ended().into_iter().map(|(_, reason)| reason).collect()
    }

    /// Sees that each run has one `Started` and one `Ended`, in this order.
    pub(crate) fn are_paired(&self) {
        let mut seen: HashMap<RunId, u8> = HashMap::new();
        for event in self.told.lock().unwrap().iter() {
            match event {
                Event::Started(started) => {
                    assert_eq!(seen.insert(started.run.run_id, 1), None, "started twice");
                }
                Event::Ended(ended) => {
                    assert_eq!(
                        seen.insert(ended.run.run_id, 2),
                        Some(1),
                        "ended twice, or before it started"
                    );
                }
                _ => {}
            }
        }
        assert!(seen.values().all(|&state| state == 2), "a run has started and not ended");
    }

    fn collect<T>(&self, pick: impl Fn(&Event) -> Option<T>) -> Vec<T> {
        self.told.lock().unwrap().iter().filter_map(pick).collect()
    }
}

/// Waits for what must come, on a clock that is paused: a seam that forgets it fails the test and does not hang it.
pub(crate) async fn in_time<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(3_600 * SECOND, future).await.expect("it never comes")
}

/// Polls `future` at most `polls` times, each time it is woken, and drops it if it is not ready by then.
pub(crate) async fn poll_times<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let mut left = polls;
    std::future::poll_fn(move |context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Polls `future` once; it must not be ready.
pub(crate) async fn poll_pending<F: Future + Unpin>(future: &mut F) {
    let polled =
        std::future::poll_fn(|context| Poll::Ready(Pin::new(&mut *future).poll(context).is_pending())).await;
    assert!(polled, "the future was ready at its first poll");
}

/// Lets every other task of a current-thread runtime run until it waits.
pub(crate) async fn let_others_run() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

/// Runs `future` on this thread, where no runtime is.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unparks(std::thread::Thread);
    impl std::task::Wake for Unparks {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = std::task::Waker::from(Arc::new(Unparks(std::thread::current())));
    let mut context = std::task::Context::from_waker(&waker);
    let mut future = std::pin::pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
