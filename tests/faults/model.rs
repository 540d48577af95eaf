//! Random operations on the crate and on a small reference of it: what can be observed is the same, at every step.

mod by_hand;
mod reference;

use std::collections::BTreeSet;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::FutureExt;
use proptest::prelude::*;
use proptest::sample::Index;
use subagent::{
    AnyProviderHandle, AnyRun, CancelCause, ContentBlock, Event, FollowUp, Live, NoOutput, Outcome,
    ProviderHandle, Refused, Registration, Request, Resume, RunFault, RunId, Settled, Start, StopReason,
    SubagentResult, Subagents, Subscription, Update,
};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::by_hand::{Begin, ByHand, End, HandRun, Held, Stage};
use self::reference::{GRACE, Reference, Verdict};

const NAMES: [&str; 3] = ["ada", "bob", "cy"];

#[derive(Debug, Clone)]
enum Step {
    Register(usize),
    Unregister(usize),
    DropGuard(Index),
    Start { provider: Index, begin: Begin, end: End, by_name: bool, odd: Option<Odd> },
    BeginStart(Index),
    LetGoOn(Index),
    PollStart(Index),
    DropStart(Index),
    CancelStart(Index),
    Steer(Index),
    Receive(Index),
    Say(Index),
    Settle(Index, Outcome),
    Lose(Index),
    Panic(Index),
    Cancel { run: Index, by_control: bool },
    CancelToken(Index),
    Await(Index),
    Resume(Index, Begin),
    Dispose(Index),
    DropHandle(Index),
    Listen,
    ListenAndPanic,
    StopListening(Index),
    Pass,
    ShutDown,
}

/// What is odd about a request.
#[derive(Debug, Clone, Copy)]
enum Odd {
    /// It asks for what the provider lacks.
    Unsupported,
    /// It asks for what the provider says it has, and never takes.
    Ignored,
    /// Its token is cancelled already.
    Cancelled,
    /// Its id is that of a live run.
    Duplicate,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..48)
}

fn step() -> impl Strategy<Value = Step> {
    let at = any::<Index>;
    prop_oneof![
        4 => (0..NAMES.len()).prop_map(Step::Register),
        1 => (0..NAMES.len()).prop_map(Step::Unregister),
        1 => at().prop_map(Step::DropGuard),
        10 => (at(), begin(), end(), any::<bool>(), prop::option::weighted(0.15, odd())).prop_map(
            |(provider, begin, end, by_name, odd)| Step::Start { provider, begin, end, by_name, odd }
        ),
        3 => at().prop_map(Step::BeginStart),
        2 => at().prop_map(Step::LetGoOn),
        3 => at().prop_map(Step::PollStart),
        1 => at().prop_map(Step::DropStart),
        1 => at().prop_map(Step::CancelStart),
        4 => at().prop_map(Step::Steer),
        2 => at().prop_map(Step::Receive),
        3 => at().prop_map(Step::Say),
        5 => (at(), outcome()).prop_map(|(run, outcome)| Step::Settle(run, outcome)),
        1 => at().prop_map(Step::Lose),
        1 => at().prop_map(Step::Panic),
        3 => (at(), any::<bool>()).prop_map(|(run, by_control)| Step::Cancel { run, by_control }),
        1 => at().prop_map(Step::CancelToken),
        3 => at().prop_map(Step::Await),
        3 => (at(), begin()).prop_map(|(run, begin)| Step::Resume(run, begin)),
        2 => at().prop_map(Step::Dispose),
        2 => at().prop_map(Step::DropHandle),
        1 => Just(Step::Listen),
        1 => Just(Step::ListenAndPanic),
        1 => at().prop_map(Step::StopListening),
        2 => Just(Step::Pass),
        1 => prop::bool::weighted(0.2).prop_map(|all| if all { Step::ShutDown } else { Step::Pass }),
    ]
}

fn begin() -> impl Strategy<Value = Begin> {
    prop_oneof![
        8 => Just(Begin::Work),
        1 => Just(Begin::Fail),
        1 => Just(Begin::Panic),
        1 => outcome().prop_map(Begin::Settle),
        1 => Just(Begin::Lose),
        1 => Just(Begin::Unregister),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![4 => Just(End::Quick), 1 => Just(End::Slow), 1 => Just(End::Fail), 1 => Just(End::Panic)]
}

fn odd() -> impl Strategy<Value = Odd> {
    prop::sample::select(vec![Odd::Unsupported, Odd::Ignored, Odd::Cancelled, Odd::Duplicate])
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop::sample::select(vec![
        Outcome::completed("done"),
        Outcome::completed(""),
        Outcome::error("the model is gone"),
        Outcome::new(StopReason::Refusal).with_output("no"),
        Outcome::new(StopReason::MaxTokens),
    ])
}

enum Handle {
    Live(Live<HandRun, NoOutput>),
    Settled(Settled<HandRun, NoOutput>),
}

/// A run of the reference, and what the test holds of it.
struct OfRun {
    handle: Option<Handle>,
    token: Option<CancellationToken>,
}

/// A start that waits inside its provider.
struct Waiting {
    id: u8,
    entry: usize,
    start: Option<Start<HandRun, NoOutput>>,
    go_on: Arc<Notify>,
    token: CancellationToken,
    may_go_on: bool,
    cancelled: bool,
    /// When the seam has had enough of it, once it was cancelled and polled again.
    given_up: Option<Duration>,
    is_over: bool,
}

struct Listener {
    told: Arc<Mutex<Vec<String>>>,
    subscription: Option<Subscription>,
    /// Where it stands in the reference's events.
    read: usize,
}

struct World {
    began: Instant,
    subagents: Subagents,
    stage: Arc<Stage>,
    reference: Reference,
    guards: Vec<Option<(usize, Registration<ByHand>)>>,
    handles: Vec<ProviderHandle<ByHand>>,
    runs: Vec<OfRun>,
    waiting: Vec<Waiting>,
    listeners: Vec<Listener>,
    panicking: Vec<Subscription>,
    ids: u8,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            began: Instant::now(),
            subagents: Subagents::builder().cancel_grace(GRACE).build(),
            stage: Arc::default(),
            reference: Reference::default(),
            guards: Vec::new(),
            handles: Vec::new(),
            runs: Vec::new(),
            waiting: Vec::new(),
            listeners: Vec::new(),
            panicking: Vec::new(),
            ids: 0,
        };
        world.listen();
        world
    }

    #[expect(clippy::too_many_lines, reason = "an arm for each step")]
    async fn take(&mut self, step: Step) -> Result<(), TestCaseError> {
        match step {
            Step::Register(name) => self.register(NAMES[name])?,
            Step::Unregister(name) => {
                let removed = self.subagents.unregister(NAMES[name]);
                prop_assert_eq!(removed, self.reference.unregister(NAMES[name]));
            }
            Step::DropGuard(at) => {
                let guards = self.guards.len();
                if guards > 0
                    && let Some((entry, guard)) = self.guards[at.index(guards)].take()
                {
                    drop(guard);
                    self.reference.close(entry);
                }
            }
            Step::Start { provider, begin, end, by_name, odd } => {
                if let Some(entry) = self.entry(provider) {
                    self.start(entry, begin, end, by_name, odd).await?;
                }
            }
            Step::BeginStart(provider) => {
                if let Some(entry) = self.entry(provider) {
                    self.begin_start(entry).await?;
                }
            }
            Step::LetGoOn(at) => {
                if let Some(at) = self.waiting(at) {
                    self.waiting[at].go_on.notify_one();
                    self.waiting[at].may_go_on = true;
                    self.drive_dropped_starts();
                }
            }
            Step::PollStart(at) => self.poll_start(at).await?,
            Step::DropStart(at) => {
                if let Some(at) = self.waiting(at) {
                    self.waiting[at].start = None;
                    self.waiting[at].cancelled = true;
                    self.drive_dropped_starts();
                }
            }
            Step::CancelStart(at) => {
                if let Some(at) = self.waiting(at) {
                    self.waiting[at].token.cancel();
                    self.waiting[at].cancelled = true;
                }
            }
            Step::Steer(run) => self.steer(run).await?,
            Step::Receive(run) => {
                let Some(run) = self.any_run(run) else { return Ok(()) };
                let id = self.run_id(run);
                if let Some(held) = self.stage.held.lock().unwrap().get_mut(&id) {
                    let received = held.inbox.try_recv().map(|content| text(&content));
                    prop_assert_eq!(received, self.reference.runs[run].inbox.pop_front());
                }
            }
            Step::Say(run) => {
                let Some(run) = self.any_run(run) else { return Ok(()) };
                let id = self.run_id(run);
                if let Some(held) = self.stage.held.lock().unwrap().get(&id) {
                    held.settlement.progress().report(Update::text("so far; "));
                    self.reference.say(run, "so far; ");
                }
            }
            Step::Settle(run, outcome) => {
                if let Some((run, held)) = self.child(run) {
                    held.settlement.settle(outcome.clone());
                    let text = outcome.output.to_text();
                    self.reference.settle(run, outcome.stop_reason, &text, outcome.diagnostic);
                }
            }
            Step::Lose(run) => {
                if let Some((run, held)) = self.child(run) {
                    drop(held.settlement);
                    self.reference.fault(run);
                }
            }
            Step::Panic(run) => {
                if let Some((run, held)) = self.child(run) {
                    let panicked = catch_unwind(AssertUnwindSafe(|| {
                        let _held = held;
                        panic!("the child fell over");
                    }));
                    prop_assert!(panicked.is_err());
                    let diagnostic = Some("the child panicked".to_owned());
                    self.reference.settle(run, StopReason::Error, "", diagnostic);
                }
            }
            Step::Cancel { run, by_control } => self.cancel(run, by_control)?,
            Step::CancelToken(run) => {
                let Some(run) = self.any_run(run) else { return Ok(()) };
                if let Some(token) = &self.runs[run].token {
                    token.cancel();
                    self.reference.cancel(run, &CancelCause::Token.to_string());
                }
            }
            Step::Await(run) => self.settle(run)?,
            Step::Resume(run, begin) => self.resume(run, begin).await?,
            Step::Dispose(run) => self.dispose(run).await?,
            Step::DropHandle(run) => {
                if let Some(run) = self.held_run(run) {
                    self.runs[run].handle = None;
                    self.reference.give_up(run, &CancelCause::Dropped.to_string());
                }
            }
            Step::Listen => self.listen(),
            Step::ListenAndPanic => {
                self.panicking.push(self.subagents.subscribe(|_| panic!("a listener fell over")));
            }
            Step::StopListening(at) => {
                let all = self.listeners.len();
                let listener = &mut self.listeners[at.index(all)];
                listener.subscription = None;
            }
            Step::Pass => tokio::time::advance(Duration::from_millis(2_503)).await,
            Step::ShutDown => self.shut_down().await?,
        }
        self.check().await
    }

    fn register(&mut self, name: &'static str) -> Result<(), TestCaseError> {
        let provider = ByHand { name, stage: Arc::clone(&self.stage), subagents: self.subagents.clone() };
        let registered = self.subagents.register(name, provider);
        match (registered, self.reference.register(name)) {
            (Ok(guard), Ok(entry)) => {
                self.handles.push(guard.handle());
                self.guards.push(Some((entry, guard)));
            }
            (registered, expected) => {
                prop_assert_eq!(registered.map(drop).map_err(|error| error.code()), expected.map(drop));
            }
        }
        Ok(())
    }

    async fn start(
        &mut self,
        entry: usize,
        begin: Begin,
        end: End,
        by_name: bool,
        odd: Option<Odd>,
    ) -> Result<(), TestCaseError> {
        let duplicate = matches!(odd, Some(Odd::Duplicate));
        let id = if duplicate { self.reference.live().next().map(|run| run.id) } else { None };
        let id = id.unwrap_or_else(|| self.new_id());
        let (name, _) = self.reference.entries[entry];
        let by_name = by_name || matches!(odd, Some(Odd::Unsupported));
        // By name, another provider may have taken the name in the meantime.
        let resolved =
            if by_name { self.reference.listed.iter().find(|(listed, _)| *listed == name) } else { None };
        let reached = if by_name { resolved.map(|(_, entry)| *entry) } else { Some(entry) };
        let unplanned = !duplicate || !self.stage.plans.lock().unwrap().contains_key(&run_id(id));
        if unplanned {
            self.stage.plans.lock().unwrap().insert(run_id(id), (begin.clone(), end, Arc::default()));
        }
        let token = CancellationToken::new();
        if matches!(odd, Some(Odd::Cancelled)) {
            token.cancel();
        }
        let request = Request::new("go").run_id(run_id(id)).cancellation(token.clone());
        let started = match odd {
            // On the typed handle it does not compile.
            Some(Odd::Unsupported) => self.subagents.start(name, request.persona("none")).await.map(typed),
            Some(Odd::Ignored) if by_name => {
                self.subagents.start(name, request.max_depth(9)).await.map(typed)
            }
            Some(Odd::Ignored) => self.handles[entry].start(request.max_depth(9)).await,
            _ if by_name => self.subagents.start(name, request).await.map(typed),
            _ => self.handles[entry].start(request).await,
        };
        let expected = self.expect_start(reached, id, &begin, end, odd);
        match (started, expected) {
            (Ok(live), Ok(run)) => {
                prop_assert_eq!(live.id(), run_id(id));
                prop_assert_eq!(run, self.runs.len());
                self.runs.push(OfRun { handle: Some(Handle::Live(live)), token: Some(token) });
            }
            (started, expected) => {
                prop_assert_eq!(started.map(drop).map_err(|error| error.code()), expected.map(drop));
            }
        }
        Ok(())
    }

    fn expect_start(
        &mut self,
        entry: Option<usize>,
        id: u8,
        begin: &Begin,
        end: End,
        odd: Option<Odd>,
    ) -> Result<usize, &'static str> {
        let Some(entry) = entry else { return Err("NO_PROVIDER") };
        let unsupported = matches!(odd, Some(Odd::Unsupported));
        let early = self.reference.refusal(entry, id, unsupported, &[]);
        if let Some(code) = early.filter(|code| *code != "DUPLICATE_RUN") {
            return Err(code);
        }
        if matches!(odd, Some(Odd::Cancelled)) {
            return Err("CANCELLED");
        }
        if let Some(code) = early {
            return Err(code);
        }
        if *begin == Begin::Unregister {
            let (name, _) = self.reference.entries[entry];
            self.reference.unregister(name);
        }
        match begin {
            Begin::Fail => return Err("START_FAILED"),
            Begin::Panic => return Err("START_PANICKED"),
            _ => {}
        }
        if matches!(odd, Some(Odd::Ignored)) {
            self.reference.turn_away(end);
            return Err("CAPABILITY_IGNORED");
        }
        if !self.reference.entries[entry].1 {
            self.reference.turn_away(end);
            return Err("UNREGISTERED");
        }
        Ok(self.reference.publish(id, begin, end))
    }

    async fn begin_start(&mut self, entry: usize) -> Result<(), TestCaseError> {
        let id = self.new_id();
        let go_on = Arc::<Notify>::default();
        self.stage.plans.lock().unwrap().insert(run_id(id), (Begin::Wait, End::Quick, Arc::clone(&go_on)));
        let token = CancellationToken::new();
        let request = Request::new("go").run_id(run_id(id)).cancellation(token.clone());
        let mut start = self.handles[entry].start(request);
        let polled = poll(&mut start).await.map(|started| started.map(drop).map_err(|error| error.code()));
        let refusal = self.reference.refusal(entry, id, false, &[]);
        prop_assert_eq!(polled, refusal.map(Err));
        if refusal.is_none() {
            self.waiting.push(Waiting {
                id,
                entry,
                start: Some(start),
                go_on,
                token,
                may_go_on: false,
                cancelled: false,
                given_up: None,
                is_over: false,
            });
        }
        Ok(())
    }

    async fn poll_start(&mut self, at: Index) -> Result<(), TestCaseError> {
        let Some(at) = self.waiting(at) else { return Ok(()) };
        let waiting = &mut self.waiting[at];
        let Some(mut start) = waiting.start.take() else { return Ok(()) };
        let polled = poll(&mut start).await;
        let now = self.reference.now;
        if waiting.may_go_on {
            waiting.is_over = true;
            let open = self.reference.entries[waiting.entry].1;
            let expected = match (open, waiting.cancelled) {
                (false, _) => Err("UNREGISTERED"),
                (true, true) => Err("CANCELLED"),
                (true, false) => Ok(()),
            };
            let (id, token) = (waiting.id, waiting.token.clone());
            match polled {
                Some(Ok(live)) if expected.is_ok() => {
                    self.reference.publish(id, &Begin::Work, End::Quick);
                    self.runs.push(OfRun { handle: Some(Handle::Live(live)), token: Some(token) });
                }
                polled => {
                    let polled = polled.map(|started| started.map(drop).map_err(|error| error.code()));
                    prop_assert_eq!(polled, Some(expected));
                    self.reference.turn_away(End::Quick);
                    self.stage.held.lock().unwrap().remove(&run_id(id));
                }
            }
        } else if waiting.cancelled && waiting.given_up.is_some_and(|given_up| given_up <= now) {
            waiting.is_over = true;
            prop_assert_eq!(
                polled.map(|started| started.map(drop).map_err(|error| error.code())),
                Some(Err("CANCELLED"))
            );
        } else {
            prop_assert!(polled.is_none(), "a start that waits was ready");
            if waiting.cancelled {
                waiting.given_up.get_or_insert(now + GRACE);
            }
            waiting.start = Some(start);
        }
        Ok(())
    }

    /// What became of starts whose future was dropped: the seam drives them on.
    fn drive_dropped_starts(&mut self) {
        let now = self.reference.now;
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.start.is_none() && !waiting.is_over) {
            let given_up = *waiting.given_up.get_or_insert(now + GRACE);
            if waiting.may_go_on {
                waiting.is_over = true;
                self.reference.turn_away(End::Quick);
            } else if given_up <= now {
                waiting.is_over = true;
            }
        }
    }

    async fn steer(&mut self, run: Index) -> Result<(), TestCaseError> {
        let Some(run) = self.held_run(run) else { return Ok(()) };
        let Some(Handle::Live(live)) = &self.runs[run].handle else { return Ok(()) };
        // The child of a run that settled inside its start has no inbox; such a run is settled.
        let sent = live.send_message("a word").await.map_err(|error| error.code());
        prop_assert_eq!(sent, self.reference.steer(run, "a word"));
        Ok(())
    }

    fn cancel(&mut self, run: Index, by_control: bool) -> Result<(), TestCaseError> {
        let Some(run) = self.any_run(run) else { return Ok(()) };
        if by_control {
            let control = self.subagents.control(self.run_id(run));
            prop_assert_eq!(control.is_some(), self.reference.runs[run].verdict.is_none());
            let Some(control) = control else { return Ok(()) };
            control.cancel("enough");
        } else {
            let Some(Handle::Live(live)) = &self.runs[run].handle else { return Ok(()) };
            live.cancel("enough");
        }
        self.reference.cancel(run, "cancelled: enough");
        Ok(())
    }

    /// Waits for a run that has settled.
    fn settle(&mut self, run: Index) -> Result<(), TestCaseError> {
        let Some(run) = self.held_run(run) else { return Ok(()) };
        if self.reference.runs[run].verdict.is_none() {
            return Ok(());
        }
        self.runs[run].handle = match self.runs[run].handle.take() {
            Some(Handle::Live(live)) => {
                let settled = live.settle().now_or_never();
                prop_assert!(settled.is_some(), "a settled run is there at once");
                settled.map(Handle::Settled)
            }
            other => other,
        };
        Ok(())
    }

    async fn resume(&mut self, run: Index, begin: Begin) -> Result<(), TestCaseError> {
        let Some(run) = self.held_run(run) else { return Ok(()) };
        let settled = match self.runs[run].handle.take() {
            Some(Handle::Settled(settled)) => settled,
            other => {
                self.runs[run].handle = other;
                return Ok(());
            }
        };
        let end = self.reference.runs[run].end;
        let id = self.new_id();
        self.stage.plans.lock().unwrap().insert(run_id(id), (begin.clone(), end, Arc::default()));
        let follow_up = FollowUp::new("again").run_id(run_id(id));
        let before = settled.id();
        let resume: Resume<_, _> = settled.resume(follow_up);
        let resumed = resume.await;
        let expected = match begin {
            _ if self.reference.closed => Err("SHUT_DOWN"),
            Begin::Fail => Err("RESUME_FAILED"),
            Begin::Panic => Err("RESUME_PANICKED"),
            _ => Ok(()),
        };
        match resumed {
            Ok(live) => {
                prop_assert_eq!(expected, Ok(()));
                prop_assert_eq!(live.resumed_from(), Some(before));
                self.reference.hand_over(run);
                self.reference.publish(id, &begin, end);
                self.runs.push(OfRun { handle: Some(Handle::Live(live)), token: None });
            }
            Err(Refused { error, value: settled }) => {
                prop_assert_eq!(Err(error.code()), expected);
                self.runs[run].handle = Some(Handle::Settled(settled));
            }
        }
        Ok(())
    }

    async fn dispose(&mut self, run: Index) -> Result<(), TestCaseError> {
        let Some(run) = self.held_run(run) else { return Ok(()) };
        let handle = self.runs[run].handle.take();
        let disposed = match handle {
            Some(Handle::Live(live)) => live.dispose().await,
            Some(Handle::Settled(settled)) => settled.dispose().await,
            None => return Ok(()),
        };
        self.reference.give_up(run, &CancelCause::Disposed.to_string());
        let expected = match self.reference.runs[run].end {
            End::Quick | End::Slow => Ok(()),
            End::Fail => Err("DISPOSE_FAILED"),
            End::Panic => Err("DISPOSE_PANICKED"),
        };
        prop_assert_eq!(disposed.map_err(|error| error.code()), expected);
        Ok(())
    }

    async fn shut_down(&mut self) -> Result<(), TestCaseError> {
        for waiting in &mut self.waiting {
            waiting.cancelled = true;
        }
        self.reference.shut_down();
        self.subagents.shutdown().await;
        self.time_goes_on();
        prop_assert_eq!(self.reference.live().count(), 0, "`shutdown` did not wait for all runs");
        prop_assert!(!self.reference.is_cleaning_up(), "`shutdown` did not wait for all disposals");
        let left = self.waiting.iter().filter(|waiting| waiting.start.is_none() && !waiting.is_over).count();
        prop_assert_eq!(left, 0, "`shutdown` did not wait for the starts that it drives");
        Ok(())
    }

    fn listen(&mut self) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&told);
        let subscription = self.subagents.subscribe(move |event| sink.lock().unwrap().push(words(event)));
        let read = self.reference.events.len();
        self.listeners.push(Listener { told, subscription: Some(subscription), read });
    }

    fn time_goes_on(&mut self) {
        self.reference.time_is(self.began.elapsed());
        self.drive_dropped_starts();
    }

    /// Compares what can be observed.
    async fn check(&mut self) -> Result<(), TestCaseError> {
        let_others_run().await;
        self.time_goes_on();
        for listener in &mut self.listeners {
            let told = std::mem::take(&mut *listener.told.lock().unwrap());
            let expected = &self.reference.events[listener.read..];
            listener.read = self.reference.events.len();
            if listener.subscription.is_none() {
                prop_assert!(told.is_empty(), "a listener that had unsubscribed was told {told:?}");
                continue;
            }
            in_order(&told)?;
            // What falls due in one instant has no order among different runs.
            prop_assert_eq!(sorted(&told), sorted(expected));
        }
        let runs = self.subagents.runs().iter().map(|run| number(run.id())).collect::<BTreeSet<_>>();
        prop_assert_eq!(runs, self.reference.live().map(|run| run.id).collect());
        let listed = self.subagents.list();
        let names = listed.iter().map(AnyProviderHandle::name).collect::<Vec<_>>();
        prop_assert_eq!(names, self.reference.listed.iter().map(|(name, _)| *name).collect::<Vec<_>>());
        let starting = self.waiting.iter().filter(|waiting| !waiting.is_over).count();
        prop_assert_eq!(self.stage.living(), self.reference.living() + starting, "children that exist");
        prop_assert_eq!(self.stage.disposed(), self.reference.disposed, "children that were disposed of");
        for (run, state) in self.runs.iter().zip(&self.reference.runs) {
            match &run.handle {
                Some(Handle::Live(live)) => {
                    let verdict = live.result().now_or_never().map(|result| verdict(result.as_ref()));
                    prop_assert_eq!(verdict.as_ref(), state.verdict.as_ref(), "run {}", state.id);
                }
                Some(Handle::Settled(settled)) => {
                    let verdict = verdict(settled.result().as_ref().map(|result| *result));
                    prop_assert_eq!(Some(&verdict), state.verdict.as_ref(), "run {}", state.id);
                }
                None => {}
            }
        }
        Ok(())
    }

    /// The test lets go of everything: nothing is left.
    async fn end(mut self) -> Result<(), TestCaseError> {
        for run in 0..self.runs.len() {
            if self.runs[run].handle.take().is_some() {
                self.reference.give_up(run, &CancelCause::Dropped.to_string());
            }
        }
        for waiting in &mut self.waiting {
            waiting.start = None;
            waiting.cancelled = true;
        }
        self.drive_dropped_starts();
        self.shut_down().await?;
        self.check().await?;
        prop_assert_eq!(self.stage.living(), 0);
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        prop_assert_eq!(tasks, 0, "tasks are left");
        Ok(())
    }

    // ---- picks

    fn entry(&self, at: Index) -> Option<usize> {
        (!self.handles.is_empty()).then(|| at.index(self.handles.len()))
    }

    fn waiting(&self, at: Index) -> Option<usize> {
        let under_way: Vec<_> =
            (0..self.waiting.len()).filter(|at| self.waiting[*at].start.is_some()).collect();
        (!under_way.is_empty()).then(|| *at.get(&under_way))
    }

    fn any_run(&self, at: Index) -> Option<usize> {
        (!self.runs.is_empty()).then(|| at.index(self.runs.len()))
    }

    fn held_run(&self, at: Index) -> Option<usize> {
        let held: Vec<_> = (0..self.runs.len()).filter(|at| self.runs[*at].handle.is_some()).collect();
        (!held.is_empty()).then(|| *at.get(&held))
    }

    /// Takes a child out of the test's hands.
    fn child(&self, at: Index) -> Option<(usize, Held)> {
        let run = self.any_run(at)?;
        let held = self.stage.held.lock().unwrap().remove(&self.run_id(run))?;
        Some((run, held))
    }

    fn run_id(&self, run: usize) -> RunId {
        run_id(self.reference.runs[run].id)
    }

    fn new_id(&mut self) -> u8 {
        self.ids += 1;
        self.ids
    }
}

fn typed(run: Live<AnyRun, NoOutput>) -> Live<HandRun, NoOutput> {
    run.downcast().unwrap()
}

fn run_id(number: u8) -> RunId {
    RunId::from_bytes([number; 16])
}

fn number(id: RunId) -> u8 {
    id.as_bytes()[0]
}

fn words(event: &Event) -> String {
    match event {
        Event::Started(started) => format!("started {}", number(started.run.run_id)),
        Event::Ended(ended) => {
            let text = ended.output.as_ref().map(|output| output.to_text().to_string()).unwrap_or_default();
            format!("ended {} {} {text:?}", number(ended.run.run_id), ended.stop_reason)
        }
        Event::ProviderAdded { provider } => format!("added {provider}"),
        Event::ProviderRemoved { provider } => format!("removed {provider}"),
        other => format!("{other:?}"),
    }
}

fn sorted(events: &[String]) -> Vec<&String> {
    let mut events: Vec<_> = events.iter().collect();
    events.sort();
    events
}

/// No run ended before it started.
fn in_order(told: &[String]) -> Result<(), TestCaseError> {
    for (at, event) in told.iter().enumerate() {
        if let Some(run) = event.strip_prefix("started ") {
            let ended = format!("ended {run} ");
            prop_assert!(!told[..at].iter().any(|earlier| earlier.starts_with(&ended)), "{told:?}");
        }
    }
    Ok(())
}

fn verdict(result: Result<&SubagentResult, &RunFault>) -> Verdict {
    match result {
        Ok(result) => Verdict::Result {
            reason: result.stop_reason().clone(),
            text: result.text().into_owned(),
            diagnostic: result.diagnostic().map(ToOwned::to_owned),
            undelivered: result.undelivered().iter().map(|message| text(message)).collect(),
        },
        Err(fault) => Verdict::Fault(fault.code()),
    }
}

fn text(content: &[ContentBlock]) -> String {
    content.iter().filter_map(ContentBlock::as_text).collect()
}

async fn let_others_run() {
    for _ in 0..24 {
        tokio::task::yield_now().await;
    }
}

/// Polls a few times, with turns for others between.
async fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    for _ in 0..8 {
        if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut Context::from_waker(Waker::noop())) {
            return Some(output);
        }
        tokio::task::yield_now().await;
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_can_be_observed_is_what_the_reference_says(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut world = World::new();
            for step in steps {
                world.take(step).await?;
            }
            world.end().await
        })?;
    }
}
