//! A caller leaves half way: each operation on each kind of provider, its future dropped at every poll in turn.
//!
//! A new operation is a function in `operations` and a line in `for_every_kind!`; a new kind of provider is a
//! [`Kind`] and a line at the bottom.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use subagent::{Event, Live, NoOutput, Provider, ProviderHandle, RunId, Subagents, Subscription};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::census::{Census, alone};
use crate::kinds::{Closure, Forked, Kind, Living, STEP, Scripted, Spawned, SteerableClosure};

type Started<K> = Live<<<K as Kind>::Provider as Provider>::Run, NoOutput>;

/// A registry with one provider, and all that can be seen of it.
struct Scene<K: Kind> {
    subagents: Subagents,
    provider: ProviderHandle<K::Provider>,
    living: Living,
    told: Arc<Mutex<Vec<Event>>>,
    _subscription: Subscription,
}

impl<K: Kind> Scene<K> {
    fn new() -> Self {
        let subagents = Subagents::builder().cancel_grace(20 * STEP).build();
        let living = Living::default();
        let provider = subagents.register("kind", K::provider(&living)).unwrap().leave_registered();
        let told = Arc::<Mutex<Vec<Event>>>::default();
        let sink = Arc::clone(&told);
        let subscription = subagents.subscribe(move |event| sink.lock().unwrap().push(event.clone()));
        Self { subagents, provider, living, told, _subscription: subscription }
    }

    async fn start(&self) -> Started<K> {
        self.provider.start(K::request()).await.unwrap()
    }

    /// The registry works as if nothing had been.
    async fn is_usable(&self) {
        assert_eq!(self.subagents.list().len(), 1);
        let collected = self.start().await.collect().await;
        assert_eq!(collected.result.unwrap().text(), "done");
        collected.disposal.unwrap();
    }

    /// Nothing is left once `shutdown` returns.
    async fn leaves_nothing(&self) {
        self.subagents.shutdown().await;
        let alive = self.living.count() + K::children(self.provider.provider());
        assert_eq!(alive, 0, "children are left");
        assert!(self.subagents.runs().is_empty(), "runs are left");
        self.events_are_paired();
        // A task is counted a little longer than it exists.
        let deadline = Instant::now() + Duration::from_secs(10);
        while Handle::current().metrics().num_alive_tasks() > 0 {
            assert!(Instant::now() < deadline, "tasks are left");
            tokio::task::yield_now().await;
        }
    }

    fn events_are_paired(&self) {
        let mut ended = HashMap::<RunId, bool>::new();
        for event in self.told.lock().unwrap().iter() {
            match event {
                Event::Started(started) => assert_eq!(ended.insert(started.run.run_id, false), None),
                Event::Ended(ending) => assert_eq!(ended.insert(ending.run.run_id, true), Some(false)),
                _ => {}
            }
        }
        assert!(ended.values().all(|ended| *ended), "a run started and did not end");
    }
}

/// What a caller does, and leaves after so many polls; `true` when it was done before that.
mod operations {
    use serde_json::json;
    use std::sync::Arc;
    use subagent::agent::{Agent, ToolSet, TurnOptions, tool_fn};
    use subagent::testing::{ScriptedModel, ScriptedReply};
    use subagent::{Provider, Resumable, Run, Steerable};

    use super::{Kind, STEP, Scene, polled};

    pub(super) async fn start<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        let started = polled(polls, scene.provider.start(K::request())).await;
        let published = scene.subagents.runs().len();
        assert!(started.is_some() || published == 0, "a start that was left is not published");
        started.is_some()
    }

    pub(super) async fn start_by_name<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        polled(polls, scene.subagents.start("kind", K::request())).await.is_some()
    }

    pub(super) async fn whole_life<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        polled(polls, async { scene.start().await.collect().await }).await.is_some()
    }

    pub(super) async fn whole_life_by_name<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        let life = async { scene.subagents.start("kind", K::request()).await.unwrap().collect().await };
        polled(polls, life).await.is_some()
    }

    pub(super) async fn settle<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        polled(polls, scene.start().await.settle()).await.is_some()
    }

    pub(super) async fn settle_within<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        polled(polls, scene.start().await.settle_within(1_000 * STEP)).await.is_some()
    }

    pub(super) async fn result<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        let live = scene.start().await;
        let ready = polled(polls, live.result()).await.is_some();
        assert_eq!(live.collect().await.result.unwrap().text(), "done", "awaiting it changes nothing");
        ready
    }

    pub(super) async fn dispose<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        polled(polls, scene.start().await.dispose()).await.is_some()
    }

    pub(super) async fn dispose_by_name<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        let live = scene.subagents.start("kind", K::request()).await.unwrap();
        polled(polls, live.dispose()).await.is_some()
    }

    pub(super) async fn dispose_once_settled<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        let settled = scene.start().await.settle().await;
        polled(polls, settled.dispose()).await.is_some()
    }

    pub(super) async fn cancel_and_collect<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        let live = scene.start().await;
        live.cancel("enough");
        polled(polls, live.collect()).await.is_some()
    }

    /// Leaves the registry shut down.
    pub(super) async fn shutdown<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        let dropped = scene.start().await;
        let held = scene.start().await;
        drop(dropped);
        let ready = polled(polls, scene.subagents.shutdown()).await.is_some();
        held.dispose().await.unwrap();
        ready
    }

    /// A parent whose tool hands work to the child, and whose turn is dropped.
    pub(super) async fn tool_call<K: Kind>(scene: &Scene<K>, polls: usize) -> bool {
        let subagents = scene.subagents.clone();
        let delegate = tool_fn("delegate", "Delegates.", json!({"type": "object"}), move |_, _| {
            let start = subagents.start("kind", K::request());
            async move {
                let run = start.await.map_err(|error| error.to_string())?;
                run.collect().await.into_result().map(|_| "done").map_err(|fault| fault.to_string())
            }
        });
        let model = ScriptedModel::new()
            .reply(ScriptedReply::new().delay(STEP).tool_call("", "delegate", json!({})))
            .reply(ScriptedReply::new().text("it is done"));
        let mut agent = Agent::builder(Arc::new(model)).tools(ToolSet::new().with(delegate).unwrap()).build();
        let turn = agent.run_turn(vec!["work".into()], TurnOptions::new());
        polled(polls, turn).await.is_some()
    }

    pub(super) async fn steer<K: Kind>(scene: &Scene<K>, polls: usize) -> bool
    where
        <K::Provider as Provider>::Run: Steerable,
    {
        let live = scene.start().await;
        let ready = polled(polls, live.send_message("a word")).await.is_some();
        drop(live.collect().await);
        ready
    }

    pub(super) async fn resume<K: Kind>(scene: &Scene<K>, polls: usize) -> bool
    where
        <K::Provider as Provider>::Run: Resumable,
    {
        let settled = scene.start().await.settle().await;
        polled(polls, settled.resume("again")).await.is_some()
    }

    pub(super) async fn resume_by_name<K: Kind>(scene: &Scene<K>, polls: usize) -> bool
    where
        <K::Provider as Provider>::Run: Resumable,
    {
        let live = scene.subagents.start("kind", K::request()).await.unwrap().into_resumable().unwrap();
        let again = async { live.settle().await.resume("again").await.unwrap().collect().await };
        polled(polls, again).await.is_some()
    }

    pub(super) async fn whole_life_with_resumption<K: Kind>(scene: &Scene<K>, polls: usize) -> bool
    where
        <K::Provider as Provider>::Run: Resumable + Run,
    {
        let life = async {
            let settled = scene.start().await.settle().await;
            settled.resume("again").await.unwrap().collect().await
        };
        polled(polls, life).await.is_some()
    }
}

/// Polls `future` so many times, each time that it is woken, and drops it if it is not ready by then.
async fn polled<F: Future>(polls: usize, future: F) -> Option<F::Output> {
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

fn paused() -> Runtime {
    Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

fn multi_threaded() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Drops the operation after 0, 1, 2, … polls until it is ready first; nothing is left after any of them.
fn at_every_poll<K: Kind, F>(runtime: fn() -> Runtime, leaves_it_usable: bool, operation: &F)
where
    F: AsyncFn(&Scene<K>, usize) -> bool,
{
    let _alone = alone();
    // The first runtime of a program opens what stays open.
    drop(runtime());
    let before = Census::take();
    let runtime = runtime();
    let within = Census::take();
    for polls in 0.. {
        assert!(polls < 1_000, "it is never ready");
        let scene = Scene::<K>::new();
        let ready = runtime.block_on(async {
            let ready = operation(&scene, polls).await;
            if leaves_it_usable {
                scene.is_usable().await;
            }
            scene.leaves_nothing().await;
            ready
        });
        assert_eq!(Census::take(), within, "after {polls} polls");
        if ready {
            break;
        }
    }
    drop(runtime);
    assert_eq!(Census::take(), before);
}

macro_rules! for_every_kind {
    ($kind:ident $name:ident: $($operation:ident)+) => {
        mod $name {
            use super::*;
            $(for_every_kind!(@ $kind $operation);)+
        }
    };
    (@ $kind:ident shutdown) => { for_every_kind!(@ $kind shutdown, false); };
    (@ $kind:ident $operation:ident) => { for_every_kind!(@ $kind $operation, true); };
    (@ $kind:ident $operation:ident, $usable:literal) => {
        mod $operation {
            use super::*;

            #[test]
            fn on_one_thread() {
                at_every_poll::<$kind, _>(paused, $usable, &operations::$operation::<$kind>);
            }

            #[test]
            fn on_several_threads() {
                at_every_poll::<$kind, _>(multi_threaded, $usable, &operations::$operation::<$kind>);
            }
        }
    };
}

for_every_kind!(Scripted scripted: start start_by_name whole_life whole_life_by_name settle settle_within result
    dispose dispose_by_name dispose_once_settled cancel_and_collect shutdown tool_call steer resume resume_by_name
    whole_life_with_resumption);
for_every_kind!(Closure closure: start start_by_name whole_life whole_life_by_name settle settle_within result
    dispose dispose_by_name dispose_once_settled cancel_and_collect shutdown tool_call);
for_every_kind!(SteerableClosure steerable_closure: start start_by_name whole_life whole_life_by_name settle
    settle_within result dispose dispose_by_name dispose_once_settled cancel_and_collect shutdown tool_call steer);
for_every_kind!(Spawned spawned: start start_by_name whole_life whole_life_by_name settle settle_within result
    dispose dispose_by_name dispose_once_settled cancel_and_collect shutdown tool_call steer resume resume_by_name
    whole_life_with_resumption);
for_every_kind!(Forked forked: start start_by_name whole_life whole_life_by_name settle settle_within result
    dispose dispose_by_name dispose_once_settled cancel_and_collect shutdown tool_call steer resume resume_by_name
    whole_life_with_resumption);
