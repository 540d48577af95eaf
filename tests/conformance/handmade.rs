//! A provider with everything, written by hand as an author would: a capability, an inbox, follow-ups. Each place where
//! such a provider may go wrong is a function of [`Quirk`], so that a broken one is the right one and one mistake.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use subagent::testing::conformance::{Behaviour, Fixture, Resuming, Staged, StartProbe, Steering};
use subagent::{
    Cancellation, ContentBlock, ContentKinds, DisposeError, Outcome, Provider, Resumable, ResumeError, Run,
    Settlement, StartError, StartRequest, SteerError, Steerable, StepLimit, StopReason,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// Where a provider may go wrong; what is written here is right.
pub(crate) trait Quirk: Send + Sync + Sized + 'static {
    fn content() -> ContentKinds {
        ContentKinds::TEXT
    }

    fn take_limit(request: &mut StartRequest) -> Option<NonZeroU32> {
        request.take::<StepLimit>()
    }

    /// The limit that binds the child.
    fn honour(limit: Option<NonZeroU32>, _follow_up: bool) -> Option<NonZeroU32> {
        limit
    }

    /// What becomes of a child whose start failed.
    fn undo(run: HandmadeRun<Self>) -> impl Future<Output = Result<HandmadeRun<Self>, StartError>> + Send {
        async move {
            run.dispose().await.ok();
            Err(StartError::failed("the child did not answer"))
        }
    }

    /// What a start that never ends does with its child.
    fn hang(run: HandmadeRun<Self>) -> impl Future<Output = Result<HandmadeRun<Self>, StartError>> + Send {
        async move {
            let _ends_with_this_future = run;
            std::future::pending().await
        }
    }

    fn started(run: HandmadeRun<Self>) -> Result<HandmadeRun<Self>, StartError> {
        Ok(run)
    }

    fn cancelled(cancellation: &Cancellation, _world: &World) -> impl Future<Output = ()> + Send {
        cancellation.cancelled()
    }

    fn settle(settlement: Settlement, outcome: Outcome) {
        settlement.settle(outcome);
    }

    fn fail(settlement: Settlement) {
        settlement.settle(Outcome::error("the model said no"));
    }

    fn panic(settlement: Settlement) {
        let _lost_in_the_panic = settlement;
        panic!("a child panics");
    }

    fn accept(inbox: &Inbox, message: Vec<ContentBlock>) -> Result<(), SteerError> {
        if inbox.push(message) { Ok(()) } else { Err(SteerError::Settled) }
    }

    /// The same, where the run's type is not known.
    fn accept_erased(inbox: &Inbox, message: Vec<ContentBlock>) -> Result<(), SteerError> {
        Self::accept(inbox, message)
    }

    fn undelivered(left: Vec<Vec<ContentBlock>>) -> Vec<Vec<ContentBlock>> {
        left
    }

    fn follow_up_text() -> &'static str {
        Behaviour::FollowsUp.follow_up_text()
    }

    fn dispose(child: &mut Child) -> impl Future<Output = Result<(), DisposeError>> + Send {
        async {
            child.end().await;
            Ok(())
        }
    }

    fn drop_run(child: &mut Child) {
        child.abort();
    }
}

/// Without a quirk.
pub(crate) struct Honest;
impl Quirk for Honest {}

/// What a provider shows: a behaviour, or steps until its limit ends it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Plays {
    Behaviour(Behaviour),
    Steps,
}

/// What all children of a provider do to the outside.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) live: AtomicUsize,
    pub(crate) steps: AtomicUsize,
    pub(crate) seen: Mutex<Vec<Vec<ContentBlock>>>,
    pub(crate) alarm: Notify,
}

pub(crate) struct Alive(Arc<World>);

impl Alive {
    pub(crate) fn new(world: &Arc<World>) -> Self {
        world.live.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(world))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.live.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) struct Handmade<Q> {
    plays: Plays,
    world: Arc<World>,
    quirk: PhantomData<fn() -> Q>,
}

subagent::supports!([Q: Quirk] Handmade<Q>: StepLimit);

impl<Q: Quirk> Handmade<Q> {
    pub(crate) fn new(plays: Plays) -> Self {
        Self { plays, world: Arc::default(), quirk: PhantomData }
    }
}

impl<Q: Quirk> Provider for Handmade<Q> {
    type Run = HandmadeRun<Q>;

    async fn start(
        &self,
        mut request: StartRequest,
        settlement: Settlement,
    ) -> Result<HandmadeRun<Q>, StartError> {
        let limit = Q::take_limit(&mut request);
        assert!(self.plays != Plays::Behaviour(Behaviour::PanicsInStart), "`start` panics");
        if self.plays == Plays::Behaviour(Behaviour::SettlesInStart) {
            Q::settle(settlement, Outcome::completed(Behaviour::SettlesInStart.text()));
            let child = Child::launch(&self.world, std::future::ready(()), Arc::default());
            return Q::started(HandmadeRun::new(self, limit, child));
        }
        let child = play::<Q>(self.plays, &self.world, Q::honour(limit, false), settlement, false);
        let run = HandmadeRun::new(self, limit, child);
        match self.plays {
            Plays::Behaviour(Behaviour::FailsToStart) => Q::undo(run).await,
            Plays::Behaviour(Behaviour::HangsInStart) => Q::hang(run).await,
            _ => Q::started(run),
        }
    }

    fn content(&self) -> ContentKinds {
        Q::content()
    }
}

/// A child: a task and its inbox, and what it has outside of the runtime, as a process would be.
pub(crate) struct Child {
    pub(crate) outside: Option<Alive>,
    pub(crate) task: Option<JoinHandle<()>>,
    pub(crate) inbox: Arc<Inbox>,
}

impl Child {
    fn launch(
        world: &Arc<World>,
        work: impl Future<Output = ()> + Send + 'static,
        inbox: Arc<Inbox>,
    ) -> Self {
        let alive = Alive::new(world);
        let task = tokio::spawn(async move {
            let _alive = alive;
            work.await;
        });
        Self { outside: None, task: Some(task), inbox }
    }

    pub(crate) fn abort(&self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }

    pub(crate) async fn end(&mut self) {
        self.abort();
        if let Some(task) = self.task.take() {
            task.await.ok();
        }
    }
}

fn play<Q: Quirk>(
    plays: Plays,
    world: &Arc<World>,
    limit: Option<NonZeroU32>,
    settlement: Settlement,
    follow_up: bool,
) -> Child {
    let inbox = Arc::new(Inbox::default());
    let (its_world, its_inbox) = (Arc::clone(world), Arc::clone(&inbox));
    let work = async move {
        let (world, inbox) = (its_world, its_inbox);
        let cancellation = settlement.cancellation();
        match plays {
            Plays::Steps => {
                let steps = limit.map_or(9, NonZeroU32::get);
                world.steps.fetch_add(steps as usize, Ordering::SeqCst);
                let stop = if steps < 9 { StopReason::TurnLimit } else { StopReason::Completed };
                Q::settle(settlement, Outcome::new(stop).with_output("as far as I came"));
            }
            Plays::Behaviour(Behaviour::Fails) => Q::fail(settlement),
            Plays::Behaviour(Behaviour::Panics) => Q::panic(settlement),
            Plays::Behaviour(Behaviour::IgnoresCancel) => {
                let _never_settled = settlement;
                std::future::pending::<()>().await;
            }
            Plays::Behaviour(Behaviour::Receives) => {
                let receive = async {
                    for _ in 0..Behaviour::MESSAGES {
                        let message = inbox.next().await;
                        world.seen.lock().unwrap().push(message);
                    }
                };
                tokio::select! {
                    () = receive => {
                        world.seen.lock().unwrap().extend(inbox.close());
                        Q::settle(settlement, Outcome::completed(Behaviour::Receives.text()));
                    }
                    () = Q::cancelled(&cancellation, &world) => stopped::<Q>(&inbox, settlement),
                }
            }
            Plays::Behaviour(Behaviour::FollowsUp) if follow_up => {
                Q::settle(settlement, Outcome::completed(Q::follow_up_text()));
            }
            Plays::Behaviour(
                behaviour @ (Behaviour::Completes | Behaviour::FollowsUp | Behaviour::FailsToDispose),
            ) => {
                Q::settle(settlement, Outcome::completed(behaviour.text()));
            }
            Plays::Behaviour(behaviour) => {
                settlement.progress().text(behaviour.text());
                Q::cancelled(&cancellation, &world).await;
                stopped::<Q>(&inbox, settlement);
            }
        }
    };
    Child::launch(world, work, inbox)
}

fn stopped<Q: Quirk>(inbox: &Inbox, settlement: Settlement) {
    let left = Q::undelivered(inbox.close());
    Q::settle(settlement, Outcome::new(StopReason::Aborted).with_undelivered(left));
}

#[derive(Default)]
pub(crate) struct Inbox {
    waiting: Mutex<(VecDeque<Vec<ContentBlock>>, bool)>,
    arrived: Notify,
}

impl Inbox {
    pub(crate) fn push(&self, message: Vec<ContentBlock>) -> bool {
        let mut waiting = self.waiting.lock().unwrap();
        let open = !waiting.1;
        if open {
            waiting.0.push_back(message);
            self.arrived.notify_one();
        }
        open
    }

    /// Jumps the queue.
    pub(crate) fn push_in_front(&self, message: Vec<ContentBlock>) {
        self.waiting.lock().unwrap().0.push_front(message);
        self.arrived.notify_one();
    }

    async fn next(&self) -> Vec<ContentBlock> {
        loop {
            let next = self.waiting.lock().unwrap().0.pop_front();
            if let Some(message) = next {
                return message;
            }
            self.arrived.notified().await;
        }
    }

    fn close(&self) -> Vec<Vec<ContentBlock>> {
        let mut waiting = self.waiting.lock().unwrap();
        waiting.1 = true;
        std::mem::take(&mut waiting.0).into()
    }
}

pub(crate) struct HandmadeRun<Q: Quirk> {
    plays: Plays,
    pub(crate) world: Arc<World>,
    limit: Option<NonZeroU32>,
    pub(crate) child: Mutex<Child>,
    quirk: PhantomData<fn() -> Q>,
}

impl<Q: Quirk> HandmadeRun<Q> {
    fn new(provider: &Handmade<Q>, limit: Option<NonZeroU32>, child: Child) -> Self {
        let world = Arc::clone(&provider.world);
        Self { plays: provider.plays, world, limit, child: Mutex::new(child), quirk: PhantomData }
    }

    fn inbox(&self) -> Arc<Inbox> {
        Arc::clone(&self.child.lock().unwrap().inbox)
    }
}

impl<Q: Quirk> Run for HandmadeRun<Q> {
    type Steer = subagent::Present;
    subagent::resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        let gone = Child { outside: None, task: None, inbox: self.inbox() };
        let mut child = std::mem::replace(&mut *self.child.lock().unwrap(), gone);
        Q::dispose(&mut child).await?;
        if self.plays == Plays::Behaviour(Behaviour::FailsToDispose) {
            return Err(DisposeError::failed("a lock file is left"));
        }
        Ok(())
    }

    async fn steer_with(
        &self,
        content: Vec<ContentBlock>,
        _proof: subagent::Present,
    ) -> Result<(), SteerError> {
        Q::accept_erased(&self.inbox(), content)
    }
}

impl<Q: Quirk> Steerable for HandmadeRun<Q> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        Q::accept(&self.inbox(), content)
    }
}

impl<Q: Quirk> Resumable for HandmadeRun<Q> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.world.seen.lock().unwrap().push(content);
        let limit = Q::honour(self.limit, true);
        let next = play::<Q>(self.plays, &self.world, limit, settlement, true);
        *self.child.lock().unwrap() = next;
        Ok(())
    }
}

impl<Q: Quirk> Drop for HandmadeRun<Q> {
    fn drop(&mut self) {
        Q::drop_run(self.child.get_mut().unwrap());
    }
}

/// The fixture of a handmade provider.
pub(crate) struct Bench<Q>(PhantomData<fn() -> Q>);

impl<Q: Quirk> Bench<Q> {
    pub(crate) fn new() -> Self {
        Self(PhantomData)
    }
}

pub(crate) fn staged<Q: Quirk>(plays: Plays) -> Staged<Handmade<Q>> {
    let provider = Handmade::new(plays);
    let (live, seen) = (Arc::clone(&provider.world), Arc::clone(&provider.world));
    Staged::new(provider, move || live.live.load(Ordering::SeqCst))
        .sees(move || seen.seen.lock().unwrap().clone())
}

/// Whether a limit of two steps binds every turn.
pub(crate) fn two_steps<Q: Quirk>() -> StartProbe<Handmade<Q>> {
    let two = NonZeroU32::new(2).unwrap();
    StartProbe::new(
        move |request| request.max_steps(two),
        || {
            staged::<Q>(Plays::Steps).honours(|outcome| match outcome.stop_reason {
                StopReason::TurnLimit => Ok(()),
                _ => Err(format!("a child with a limit of 2 steps ended with `{}`", outcome.stop_reason)),
            })
        },
    )
}

impl<Q: Quirk> Fixture for Bench<Q> {
    type Provider = Handmade<Q>;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Handmade<Q>>> {
        Some(staged(Plays::Behaviour(behaviour)))
    }

    fn start_probes(&self) -> Vec<StartProbe<Handmade<Q>>> {
        vec![two_steps()]
    }

    fn steering(&self) -> Option<Steering<Handmade<Q>>> {
        Some(Steering::probe())
    }

    fn resuming(&self) -> Option<Resuming<Handmade<Q>>> {
        Some(Resuming::probe())
    }

    fn patience(&self) -> Duration {
        // On a paused clock, but for the one check that has no clock of Tokio's.
        Duration::from_secs(2)
    }
}

subagent::conformance!(
    #[tokio::test(start_paused = true)]
    handmade,
    Bench::<Honest>::new()
);

/// A child with something outside of the runtime, which is there until the disposal has taken its time.
struct Slow;

impl Quirk for Slow {
    fn started(run: HandmadeRun<Self>) -> Result<HandmadeRun<Self>, StartError> {
        run.child.lock().unwrap().outside = Some(Alive::new(&run.world));
        Ok(run)
    }

    async fn dispose(child: &mut Child) -> Result<(), DisposeError> {
        tokio::time::sleep(Duration::from_millis(20)).await;
        child.end().await;
        child.outside = None;
        Ok(())
    }
}

subagent::conformance!(
    #[tokio::test(start_paused = true)]
    handmade_and_slow_to_end,
    Bench::<Slow>::new()
);
