//! What the tests of the seam share.

use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};

use futures::future::BoxFuture;
use subagent::testing::{ScriptedLog, ScriptedProvider};
use subagent::{
    DepthLimit, DisposeError, Event, Presence, Provider, ProviderHandle, Run, RunId, Settlement, StartError,
    StartRequest, Subagents, Subscription,
};
use tokio::sync::mpsc;

/// The provider under the name `child`; it stays registered.
pub(crate) fn registered<P: Provider>(provider: P) -> (Subagents, ProviderHandle<P>) {
    let subagents = Subagents::new();
    let handle = subagents.register("child", provider).unwrap().leave_registered();
    (subagents, handle)
}

/// As [`registered`], with the log of a scripted provider.
pub(crate) fn scripted<A: Presence, B: Presence, C: Presence>(
    provider: ScriptedProvider<A, B, C>,
) -> (Subagents, ProviderHandle<ScriptedProvider<A, B, C>>, ScriptedLog) {
    let log = provider.log();
    let (subagents, handle) = registered(provider);
    (subagents, handle, log)
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn Error) -> Vec<String> {
    let causes = std::iter::successors(error.source(), |error| (*error).source());
    std::iter::once(error.to_string()).chain(causes.map(ToString::to_string)).collect()
}

/// The events that were sent, in order.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<Event>>>);

impl Recorder {
    pub(crate) fn listen_to(subagents: &Subagents) -> (Self, Subscription) {
        let recorder = Self::default();
        let events = recorder.clone();
        let subscription = subagents.subscribe(move |event| events.0.lock().unwrap().push(event.clone()));
        (recorder, subscription)
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    /// `started` and `ended: <stop reason>` of each run, and `added`/`removed: <name>`.
    pub(crate) fn words(&self) -> Vec<String> {
        self.events().iter().map(words).collect()
    }

    /// The run ids of the events, in order.
    pub(crate) fn run_ids(&self) -> Vec<RunId> {
        self.events().iter().filter_map(run_id).collect()
    }
}

fn words(event: &Event) -> String {
    match event {
        Event::Started(_) => "started".to_owned(),
        Event::Ended(ended) => format!("ended: {}", ended.stop_reason),
        Event::ProviderAdded { provider } => format!("added: {provider}"),
        Event::ProviderRemoved { provider } => format!("removed: {provider}"),
        other => format!("{other:?}"),
    }
}

pub(crate) fn run_id(event: &Event) -> Option<RunId> {
    match event {
        Event::Started(started) => Some(started.run.run_id),
        Event::Ended(ended) => Some(ended.run.run_id),
        _ => None,
    }
}

/// Counts the wakes of whoever is polled with it.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wakes {
    pub(crate) fn new() -> (Arc<Self>, Waker) {
        let wakes = Arc::<Self>::default();
        (Arc::clone(&wakes), Waker::from(wakes))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A provider whose `start` is this function; it declares `DepthLimit`.
pub(crate) struct StartsWith<F>(pub(crate) F);

subagent::supports!([F: Send + Sync + 'static] StartsWith<F>: DepthLimit);

impl<F, Started> Provider for StartsWith<F>
where
    F: Fn(StartRequest, Settlement) -> Started + Send + Sync + 'static,
    Started: Future<Output = Result<TestRun, StartError>> + Send,
{
    type Run = TestRun;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<TestRun, StartError> {
        (self.0)(request, settlement).await
    }
}

/// A provider whose settlements the test holds: no task, no child, nothing happens by itself.
pub(crate) fn by_hand() -> (impl Provider<Run = TestRun>, mpsc::UnboundedReceiver<Settlement>) {
    let (sender, settlements) = mpsc::unbounded_channel();
    let provider = StartsWith(move |_: StartRequest, settlement: Settlement| {
        let sent = sender.send(settlement);
        async move {
            sent.map_err(|_| StartError::failed("the test is over"))?;
            Ok(TestRun::default())
        }
    });
    (provider, settlements)
}

type Disposal = dyn FnOnce() -> BoxFuture<'static, Result<(), DisposeError>> + Send + Sync;

/// A run with nothing behind it but the disposal that it was given.
#[derive(Default)]
pub(crate) struct TestRun(Option<Box<Disposal>>);

impl TestRun {
    pub(crate) fn disposed_by<F, D>(dispose: F) -> Self
    where
        F: FnOnce() -> D + Send + Sync + 'static,
        D: Future<Output = Result<(), DisposeError>> + Send + 'static,
    {
        Self(Some(Box::new(|| Box::pin(dispose()))))
    }
}

impl Run for TestRun {
    subagent::not_steerable!();
    subagent::not_resumable!();

    async fn dispose(mut self) -> Result<(), DisposeError> {
        match self.0.take() {
            Some(dispose) => dispose().await,
            None => Ok(()),
        }
    }
}
