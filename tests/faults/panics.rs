//! Foreign code panics in each place where the seam runs it, and the run is left in each way that there is: nothing
//! crosses to the caller, and all that the seam promises holds.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};
use subagent::agent::{Message, Model, ModelError, ModelEvent, ModelRequest, ModelStream, ToolSet, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedProvider, ScriptedReply};
use subagent::{
    BoxError, Capability, ContentBlock, DisposeError, Fork, Outcome, Parent, ParentLog, Plain, Provider,
    ProviderBlock, ProviderContent, Refused, Request, ResumeError, Run, Settlement, SnapshotError, Spawn,
    StartError, StartRequest, SteerError, Subagents, Unchecked, Update,
};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::support::Events;

/// Where a provider or its run falls over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Nowhere,
    Start,
    StartLater,
    /// The future of a start that is given up panics when it is dropped.
    StartDropped,
    /// The outcome of a start that fails panics when it is dropped.
    ParkedOutcome,
    Steer,
    Resume,
    Dispose,
    DisposeLater,
    RunDropped,
    Child,
    ChildDropped,
    Snapshot,
    ErrorText,
}

const PLACES: [Place; 14] = [
    Place::Nowhere,
    Place::Start,
    Place::StartLater,
    Place::StartDropped,
    Place::ParkedOutcome,
    Place::Steer,
    Place::Resume,
    Place::Dispose,
    Place::DisposeLater,
    Place::RunDropped,
    Place::Child,
    Place::ChildDropped,
    Place::Snapshot,
    Place::ErrorText,
];

struct Clumsy(Place);

subagent::supports!(Clumsy: Brittle);

impl Provider for Clumsy {
    type Run = ClumsyRun;

    fn start(
        &self,
        mut request: StartRequest,
        settlement: Settlement,
    ) -> impl Future<Output = Result<ClumsyRun, StartError>> + Send {
        let place = self.0;
        request.take::<Brittle>();
        assert_ne!(place, Place::Start);
        async move {
            let _bomb = (place == Place::StartDropped).then(Bomb::new);
            tokio::task::yield_now().await;
            assert_ne!(place, Place::StartLater);
            match place {
                Place::StartDropped => std::future::pending().await,
                Place::ParkedOutcome => {
                    settlement.settle(Outcome::completed(vec![block(place)]));
                    return Err(StartError::failed("no child"));
                }
                Place::ErrorText if request.prompt_text() == "fail" => {
                    return Err(StartError::failed(Unspeakable));
                }
                _ => {}
            }
            Ok(ClumsyRun { place, child: work(place, settlement), disposed: false })
        }
    }
}

/// The child, on a task.
fn work(place: Place, settlement: Settlement) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let settlement = settlement;
        settlement.progress().report(Update::text("so far"));
        let _bomb = (place == Place::ChildDropped).then(Bomb::new);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_ne!(place, Place::Child);
        settlement.settle(Outcome::completed(vec![block(place)]));
    })
}

struct ClumsyRun {
    place: Place,
    child: tokio::task::JoinHandle<()>,
    disposed: bool,
}

impl Run for ClumsyRun {
    subagent::steerable!();
    subagent::resumable!();

    fn dispose(mut self) -> impl Future<Output = Result<(), DisposeError>> + Send {
        self.child.abort();
        assert_ne!(self.place, Place::Dispose);
        async move {
            (&mut self.child).await.ok();
            assert_ne!(self.place, Place::DisposeLater);
            self.disposed = true;
            if self.place == Place::ErrorText { Err(DisposeError::failed(Unspeakable)) } else { Ok(()) }
        }
    }
}

impl subagent::Steerable for ClumsyRun {
    async fn send_message(&self, _content: Vec<ContentBlock>) -> Result<(), SteerError> {
        assert_ne!(self.place, Place::Steer);
        if self.place == Place::ErrorText { Err(SteerError::failed(Unspeakable)) } else { Ok(()) }
    }
}

impl subagent::Resumable for ClumsyRun {
    async fn resume(&self, _content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        assert_ne!(self.place, Place::Resume);
        if self.place == Place::ErrorText {
            return Err(ResumeError::failed(Unspeakable));
        }
        settlement.complete("again");
        Ok(())
    }
}

impl Drop for ClumsyRun {
    fn drop(&mut self) {
        self.child.abort();
        // A second panic while unwinding would be the end of the program, and no seam could help that.
        assert!(self.place != Place::RunDropped || std::thread::panicking());
    }
}

/// Panics when it is dropped.
struct Bomb(AtomicBool);

impl Bomb {
    fn new() -> Self {
        Self(AtomicBool::new(true))
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.0.swap(false, Ordering::SeqCst) || std::thread::panicking(), "a bomb went off");
    }
}

fn block(place: Place) -> ContentBlock {
    match place {
        Place::Snapshot => ContentBlock::Provider(ProviderBlock::new(Live(None))),
        Place::ParkedOutcome => ContentBlock::Provider(ProviderBlock::new(Live(Some(Bomb::new())))),
        _ => "done".into(),
    }
}

struct Live(#[expect(dead_code, reason = "it is there to be dropped")] Option<Bomb>);

impl ProviderContent for Live {
    fn kind(&self) -> &'static str {
        "acme/live"
    }

    fn snapshot(&self) -> Result<Map<String, Value>, SnapshotError> {
        panic!("the snapshot fell over")
    }
}

/// An error that cannot be printed.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("the text of an error fell over")
    }
}

impl std::error::Error for Unspeakable {}

/// A capability whose values cannot be read or written.
struct Brittle;

#[derive(Clone)]
struct BrittleValue;

impl Capability for Brittle {
    const NAME: &'static str = "acme/brittle";
    type Value = BrittleValue;
    type Kind = Plain;

    fn narrow(earlier: BrittleValue, _later: BrittleValue) -> BrittleValue {
        earlier
    }
}

impl Serialize for BrittleValue {
    fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        panic!("the value could not be written")
    }
}

impl<'de> Deserialize<'de> for BrittleValue {
    fn deserialize<D: Deserializer<'de>>(_deserializer: D) -> Result<Self, D::Error> {
        panic!("the value could not be read")
    }
}

/// How a caller gets rid of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    Collect,
    Dispose,
    Drop,
    DropSettled,
    CancelAndCollect,
    Shutdown,
    DropStart,
}

const LEAVING: [Leaving; 7] = [
    Leaving::Collect,
    Leaving::Dispose,
    Leaving::Drop,
    Leaving::DropSettled,
    Leaving::CancelAndCollect,
    Leaving::Shutdown,
    Leaving::DropStart,
];

/// Does all that a caller may do with a run.
async fn live_through<P: Provider>(
    subagents: &Subagents,
    provider: &subagent::ProviderHandle<P>,
    request: Request,
    leaving: Leaving,
) where
    P::Run: subagent::Steerable + subagent::Resumable,
{
    if leaving == Leaving::DropStart {
        let mut start = provider.start(request);
        if !poll_once(&mut start).await {
            tokio::task::yield_now().await;
            poll_once(&mut start).await;
        }
        return;
    }
    let start = provider.start(request);
    let started = tokio::time::timeout(Duration::from_secs(1), start).await;
    let Ok(Ok(run)) = started else { return };
    // Accepted or not: it does not matter here.
    drop(run.send_message("a word").await);
    match leaving {
        Leaving::Collect => drop(run.collect().await.into_result()),
        Leaving::Dispose => drop(run.dispose().await),
        Leaving::Drop => drop(run),
        Leaving::DropSettled => match run.settle().await.resume("again").await {
            Ok(again) => drop(again.settle().await),
            Err(Refused { value: settled, .. }) => drop(settled),
        },
        Leaving::CancelAndCollect => {
            run.cancel("enough");
            drop(run.collect().await.into_result());
        }
        Leaving::Shutdown => {
            subagents.shutdown().await;
            drop(run);
        }
        Leaving::DropStart => {}
    }
}

async fn poll_once<F: Future + Unpin>(future: &mut F) -> bool {
    std::future::poll_fn(|context: &mut Context<'_>| {
        Poll::Ready(Pin::new(&mut *future).poll(context).is_ready())
    })
    .await
}

/// Everything holds afterwards: each run has its pair of events, no run and no task is left, and a sound provider
/// beside the clumsy one still works.
async fn is_as_good_as_new(subagents: &Subagents, events: &Events, what: &str) {
    if let Ok(sound) = subagents.register("sound", ScriptedProvider::replying("fine")) {
        let run = sound.start(Request::new("work")).await.unwrap();
        assert_eq!(run.collect().await.into_result().unwrap().text(), "fine", "{what}");
    }
    subagents.shutdown().await;
    assert!(subagents.runs().is_empty(), "{what}: runs are left");
    events.are_paired(what);
    for _ in 0..8 {
        tokio::task::yield_now().await;
    }
    assert_eq!(Handle::current().metrics().num_alive_tasks(), 0, "{what}: tasks are left");
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

/// Prints every field of every log line, as a subscriber of the user's does.
fn with_logs<T>(run: impl FnOnce() -> T) -> T {
    tracing::subscriber::with_default(crate::support::Printing::default(), run)
}

#[test]
fn a_provider_may_fall_over_anywhere_and_be_left_in_any_way() {
    with_logs(|| {
        for place in PLACES {
            for leaving in LEAVING {
                let what = format!("{place:?}, {leaving:?}");
                runtime().block_on(async {
                    let subagents = Subagents::builder().cancel_grace(Duration::from_millis(100)).build();
                    let events = Events::of(&subagents);
                    let provider = subagents.register("clumsy", Clumsy(place)).unwrap().leave_registered();
                    let prompts: &[&str] =
                        if place == Place::ErrorText { &["work", "fail"] } else { &["work"] };
                    for prompt in prompts {
                        let lived = live_through(&subagents, &provider, Request::new(*prompt), leaving);
                        let lived =
                            futures::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(lived)).await;
                        assert!(lived.is_ok(), "{what}: the panic reached the caller");
                    }
                    is_as_good_as_new(&subagents, &events, &what).await;
                });
            }
        }
    });
}

#[tokio::test]
async fn a_capability_value_that_cannot_be_read_or_written_is_an_error() {
    let subagents = Subagents::new();
    let provider = subagents.register("clumsy", Clumsy(Place::Nowhere)).unwrap();
    // As a value of its own type it is never read or written.
    let run = provider.start(Request::new("work").with::<Brittle>(BrittleValue)).await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    let error = serde_json::to_string(&Request::new("work").with::<Brittle>(BrittleValue)).unwrap_err();
    assert!(error.to_string().contains("the value could not be written"), "{error}");

    let json = json!({"prompt": "work", "capabilities": {"acme/brittle": 1}});
    let request: Request<Unchecked> = serde_json::from_value(json).unwrap();
    let (error, request) = request.try_into_typed::<(Brittle, ())>().map(drop).unwrap_err().into_parts();
    assert_eq!(error.code(), "INVALID_VALUE");
    let error = subagents.start("clumsy", request).await.map(drop).unwrap_err();
    assert_eq!(error.code(), "INVALID_VALUE", "{error}");
    assert!(subagents.runs().is_empty());
}

/// Where an in-process child's parts fall over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    ModelCall,
    ModelStream,
    ModelStreamDropped,
    ModelName,
    ModelContentKinds,
    Tool,
    ToolLater,
    ToolDropped,
    ToolError,
    ToolBlock,
}

const PARTS: [Part; 10] = [
    Part::ModelCall,
    Part::ModelStream,
    Part::ModelStreamDropped,
    Part::ModelName,
    Part::ModelContentKinds,
    Part::Tool,
    Part::ToolLater,
    Part::ToolDropped,
    Part::ToolError,
    Part::ToolBlock,
];

/// Uses its tool once, then says so.
struct ClumsyModel {
    part: Part,
    armed: AtomicBool,
}

impl ClumsyModel {
    fn new(part: Part) -> Self {
        Self { part, armed: AtomicBool::new(false) }
    }

    fn fall_over_at(&self, part: Part) {
        assert!(self.part != part || !self.armed.load(Ordering::SeqCst), "{part:?} fell over");
    }
}

impl Model for ClumsyModel {
    fn name(&self) -> &'static str {
        self.fall_over_at(Part::ModelName);
        "clumsy"
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        // Its name and kinds were good when the child was set up.
        self.armed.store(true, Ordering::SeqCst);
        self.fall_over_at(Part::ModelCall);
        let reply = match request.messages().last() {
            Some(Message::ToolResults { .. }) => ScriptedReply::new().text("done"),
            _ if self.part == Part::ModelStream => ScriptedReply::new().text("so far").panic(),
            _ => ScriptedReply::new().text("so far").tool_call("", "work", json!({})),
        };
        let model = ScriptedModel::new().reply(reply);
        let bomb = (self.part == Part::ModelStreamDropped).then(Bomb::new);
        let events = model.stream(request);
        ModelStream::new(futures::StreamExt::map(events, move |event: Result<ModelEvent, ModelError>| {
            let _held = &bomb;
            event
        }))
    }

    fn content_kinds(&self) -> subagent::ContentKinds {
        self.fall_over_at(Part::ModelContentKinds);
        subagent::ContentKinds::ALL
    }
}

fn clumsy_tools(part: Part) -> ToolSet {
    let work = tool_fn("work", "Works.", json!({"type": "object"}), move |_, _| {
        assert_ne!(part, Part::Tool);
        async move {
            let _bomb = (part == Part::ToolDropped).then(Bomb::new);
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert_ne!(part, Part::ToolLater);
            match part {
                Part::ToolError => Err(Unspeakable.to_string()),
                Part::ToolBlock => {
                    Ok(vec![ContentBlock::Provider(ProviderBlock::new(Live(Some(Bomb::new()))))].into())
                }
                _ => Ok(subagent::agent::ToolOutput::from("worked")),
            }
        }
    });
    ToolSet::new().with(work).unwrap()
}

#[test]
fn a_model_and_a_tool_may_fall_over_anywhere_and_their_child_be_left_in_any_way() {
    with_logs(|| {
        for part in PARTS {
            for leaving in LEAVING {
                let what = format!("{part:?}, {leaving:?}");
                runtime().block_on(async {
                    let subagents = Subagents::builder().cancel_grace(Duration::from_millis(100)).build();
                    let events = Events::of(&subagents);
                    let spawn = Spawn::builder()
                        .default_model(ClumsyModel::new(part))
                        .tools(clumsy_tools(part))
                        .build();
                    let provider = subagents.register("clumsy", spawn).unwrap().leave_registered();
                    let lived = live_through(&subagents, &provider, Request::new("work"), leaving);
                    let lived = futures::FutureExt::catch_unwind(std::panic::AssertUnwindSafe(lived)).await;
                    assert!(lived.is_ok(), "{what}: the panic reached the caller");
                    is_as_good_as_new(&subagents, &events, &what).await;
                    assert!(provider.provider().sessions().is_empty(), "{what}: a session is left");
                });
            }
        }
    });
}

#[tokio::test]
async fn a_parent_log_and_a_search_for_a_model_that_fall_over_fail_the_start() {
    struct Torn;
    impl ParentLog for Torn {
        fn completed_turns(&self) -> Result<subagent::agent::SessionPrefix, BoxError> {
            panic!("the log fell over")
        }
    }
    let subagents = Subagents::new();
    let events = Events::of(&subagents);
    let fork = subagents.register("fork", Fork::new()).unwrap();
    let parent = Parent::new("agent", "session").with_log(Torn);
    let error = fork.start(Request::new("work").parent(&parent)).await.map(drop).unwrap_err();
    assert_eq!(error.code(), "START_PANICKED");
    let spawn = Spawn::builder().resolve_models(|_| panic!("the search fell over")).build();
    let spawn = subagents.register("spawn", spawn).unwrap();
    let error = spawn.start(Request::new("work").model("any")).await.map(drop).unwrap_err();
    assert_eq!(error.code(), "START_PANICKED");
    drop((fork, spawn));
    is_as_good_as_new(&subagents, &events, "in-process setup").await;
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_falls_over_keeps_no_other_waiter_waiting() {
    struct Clumsy;
    impl std::task::Wake for Clumsy {
        fn wake(self: Arc<Self>) {
            panic!("a waker fell over");
        }
    }
    let subagents = Subagents::new();
    let events = Events::of(&subagents);
    let provider = subagents.register("clumsy", self::Clumsy(Place::Nowhere)).unwrap();
    let run = provider.start(Request::new("work")).await.unwrap();
    let mut updates = Box::pin(run.updates());
    // The child has said what it says.
    futures::StreamExt::next(&mut updates).await;
    let waker = std::task::Waker::from(Arc::new(Clumsy));
    let next = futures::Stream::poll_next(updates.as_mut(), &mut Context::from_waker(&waker));
    assert!(next.is_pending());
    let collected = tokio::time::timeout(Duration::from_mins(1), run.collect()).await;
    assert!(collected.is_ok(), "the result never came");
    drop((updates, provider));
    is_as_good_as_new(&subagents, &events, "a waker").await;
}
