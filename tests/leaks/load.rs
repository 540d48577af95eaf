//! Thousands of runs, two hundred at a time, with faults of every kind: what was started has ended and is disposed of,
//! and the program has no more than before.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use subagent::agent::{Message, Model, ModelError, ModelRequest, ModelStream, ToolSet, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{
    ContentBlock, DisposeError, Event, FollowUp, Outcome, Parent, Provider, ProviderHandle, Request,
    ResumeError, Run, Settlement, Spawn, StartError, StartRequest, SteerError, Steerable, Subagents, Update,
};
use tokio::runtime::{Builder, Handle};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::census::{Census, alone};

const AT_ONCE: usize = 200;
const MS: Duration = Duration::from_millis(1);
/// What a child that nobody ends may take.
const LIMIT: Duration = Duration::from_millis(40);

/// What happened, counted.
#[derive(Default)]
struct Counts {
    created: AtomicUsize,
    disposed: AtomicUsize,
    living: AtomicUsize,
    started: AtomicUsize,
    ended: AtomicUsize,
}

fn add(count: &AtomicUsize) {
    count.fetch_add(1, Ordering::SeqCst);
}

fn read(count: &AtomicUsize) -> usize {
    count.load(Ordering::SeqCst)
}

/// Numbers that look random and are the same in every run of the test.
#[derive(Clone, Copy)]
struct Dice(u64);

impl Dice {
    fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % most
    }

    fn pause(&mut self) -> Duration {
        Duration::from_micros(self.below(3_000))
    }
}

/// A provider with faults; the prompt's number says which.
struct Faulty(Arc<Counts>);

subagent::supports!(Faulty:);

impl Provider for Faulty {
    type Run = FaultyRun;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<FaultyRun, StartError> {
        let mut dice = Dice::of(request.prompt_text().parse().unwrap_or_default());
        let mut settlement = Some(settlement);
        match dice.below(24) {
            0 => return Err(StartError::failed("no child")),
            1 => panic!("the start fell over"),
            2 => std::future::pending().await,
            3 | 4 => sleep(dice.pause()).await,
            5 => settlement.take().into_iter().for_each(|settlement| settlement.complete("at once")),
            6 => settlement = None,
            _ => {}
        }
        Ok(FaultyRun::new(&self.0, settlement, dice))
    }
}

struct FaultyRun {
    counts: Arc<Counts>,
    dice: Dice,
    child: JoinHandle<()>,
}

impl FaultyRun {
    fn new(counts: &Arc<Counts>, settlement: Option<Settlement>, mut dice: Dice) -> Self {
        add(&counts.created);
        let child = tokio::spawn(work(Living::new(counts), settlement, dice));
        dice.below(1);
        Self { counts: Arc::clone(counts), dice, child }
    }
}

async fn work(_living: Living, settlement: Option<Settlement>, mut dice: Dice) {
    let Some(settlement) = settlement else { return };
    sleep(dice.pause()).await;
    for _ in 0..dice.below(8) {
        settlement.progress().report(Update::text("word by word "));
    }
    let cancellation = settlement.cancellation();
    match dice.below(16) {
        0 => settlement.settle(Outcome::error("the model is gone")),
        1 => panic!("the child fell over"),
        2 => drop(settlement),
        3 => std::future::pending().await,
        4 | 5 => {
            cancellation.cancelled().await;
            sleep(dice.pause()).await;
            settlement.settle(Outcome::completed("what there was"));
        }
        _ => {
            sleep(dice.pause()).await;
            settlement.complete("done");
        }
    }
}

impl Run for FaultyRun {
    subagent::steerable!();
    subagent::resumable!();

    async fn dispose(mut self) -> Result<(), DisposeError> {
        self.child.abort();
        (&mut self.child).await.ok();
        add(&self.counts.disposed);
        match self.dice.below(16) {
            0 => return Err(DisposeError::failed("a file is left")),
            1 => panic!("the disposal fell over"),
            2 | 3 => sleep(2 * MS).await,
            _ => {}
        }
        Ok(())
    }
}

impl Steerable for FaultyRun {
    async fn send_message(&self, _content: Vec<ContentBlock>) -> Result<(), SteerError> {
        Err(SteerError::Settled)
    }
}

impl subagent::Resumable for FaultyRun {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        let mut dice = Dice(self.dice.0 ^ content.len() as u64);
        match dice.below(8) {
            0 => return Err(ResumeError::failed("not again")),
            1 => panic!("the resumption fell over"),
            2 => sleep(dice.pause()).await,
            _ => {}
        }
        settlement.complete("again");
        Ok(())
    }
}

impl Drop for FaultyRun {
    fn drop(&mut self) {
        self.child.abort();
    }
}

/// Counted as long as a child's task exists.
struct Living(Arc<Counts>);

impl Living {
    fn new(counts: &Arc<Counts>) -> Self {
        add(&counts.living);
        Self(Arc::clone(counts))
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.0.living.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A model with faults, whose agents delegate.
struct FaultyModel;

impl Model for FaultyModel {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let prompt = request.messages().iter().find_map(|message| match message {
            Message::User { content, .. } => content.iter().find_map(ContentBlock::as_text),
            _ => None,
        });
        let mut dice = Dice::of(prompt.and_then(|prompt| prompt.parse().ok()).unwrap_or_default());
        let answered = matches!(request.messages().last(), Some(Message::ToolResults { .. }));
        let reply = ScriptedReply::new().text("hm ").delay(dice.pause());
        let reply = match dice.below(12) {
            0 => reply.error(ModelError::other("the model is gone")),
            1 => reply.panic(),
            2 => reply.hang(),
            3 => reply.cut(),
            4..=8 if !answered => reply.tool_call("", "delegate", json!({})).tool_call("", "fail", json!({})),
            _ => reply.text("done"),
        };
        Model::stream(&ScriptedModel::new().reply(reply), request)
    }
}

fn tools(subagents: &Subagents) -> ToolSet {
    let subagents = subagents.clone();
    let number = Arc::new(AtomicUsize::new(0));
    let delegate = tool_fn("delegate", "Delegates.", json!({"type": "object"}), move |_, context| {
        let number = number.fetch_add(1, Ordering::SeqCst);
        let request = Request::new(number.to_string()).parent(&Parent::from(&context)).time_limit(LIMIT);
        let start = subagents.start("faulty", request);
        async move {
            let run = start.await.map_err(|error| error.to_string())?;
            run.collect().await.into_result().map(|_| "done").map_err(|fault| fault.to_string())
        }
    });
    let fail = tool_fn("fail", "Fails.", json!({"type": "object"}), |_, _| async {
        sleep(MS).await;
        assert!(!std::hint::black_box(true), "the tool fell over");
        "never"
    });
    ToolSet::new().with(delegate).unwrap().with(fail).unwrap()
}

/// One caller, with faults of its own.
async fn call<P: Provider>(provider: ProviderHandle<P>, number: u64)
where
    P::Run: subagent::Resumable,
{
    let mut dice = Dice::of(!number);
    let mut request = Request::new(number.to_string()).time_limit(LIMIT);
    let token = tokio_util::sync::CancellationToken::new();
    if dice.below(8) == 0 {
        request = request.cancellation(token.clone());
    }
    let start = provider.start(request);
    let run = match dice.below(8) {
        // Leaves while it starts.
        0 => timeout(dice.pause(), start).await.unwrap_or(Err(StartError::ShutDown)),
        _ => start.await,
    };
    let Ok(run) = run else { return };
    match dice.below(16) {
        0 => drop(run),
        1 => drop(run.dispose().await),
        2 => drop(run.dispose()),
        3 => drop(timeout(dice.pause(), run.settle()).await),
        4 => drop(timeout(dice.pause(), run.collect()).await),
        5 => {
            sleep(dice.pause()).await;
            run.cancel("enough");
            drop(run.collect().await);
        }
        6 => {
            sleep(dice.pause()).await;
            token.cancel();
            drop(run.collect().await);
        }
        7 | 8 => {
            if let Ok(again) = run.settle().await.resume(FollowUp::new("again").time_limit(LIMIT)).await {
                drop(again.collect().await);
            }
        }
        9 => drop(
            timeout(dice.pause(), async {
                drop(run.settle().await.resume(FollowUp::new("again").time_limit(LIMIT)).await);
            })
            .await,
        ),
        _ => drop(run.collect().await),
    }
}

/// How much of the program is in memory, in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Waits for what must come.
async fn comes(what: &str, is_there: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !is_there() {
        assert!(Instant::now() < deadline, "{what}");
        sleep(MS).await;
    }
}

/// A caller that is not done by then waits for what never comes.
async fn in_time(number: u64, call: impl Future<Output = ()>) {
    assert!(timeout(Duration::from_secs(30), call).await.is_ok(), "caller {number} waits for ever");
}

struct Load {
    subagents: Subagents,
    faulty: ProviderHandle<Faulty>,
    spawn: ProviderHandle<Spawn>,
    counts: Arc<Counts>,
    next: u64,
}

impl Load {
    /// Runs so many callers, two hundred at a time, and then sees that all is over.
    async fn run(&mut self, callers: u64) {
        let mut under_way = JoinSet::new();
        for _ in 0..callers {
            if under_way.len() == AT_ONCE {
                under_way.join_next().await.unwrap().unwrap();
            }
            self.next += 1;
            let number = self.next;
            if number.is_multiple_of(4) {
                under_way.spawn(in_time(number, call(self.spawn.clone(), number)));
            } else {
                under_way.spawn(in_time(number, call(self.faulty.clone(), number)));
            }
        }
        while let Some(ended) = under_way.join_next().await {
            ended.unwrap();
        }
        let counts = &self.counts;
        comes("tasks are left", || Handle::current().metrics().num_alive_tasks() == 0).await;
        assert!(self.subagents.runs().is_empty(), "runs are left");
        assert_eq!(read(&counts.living), 0, "children are left");
        assert!(self.spawn.provider().sessions().is_empty(), "sessions are left");
        assert_eq!(read(&counts.started), read(&counts.ended), "started, ended");
        assert_eq!(read(&counts.created), read(&counts.disposed), "created, disposed of");
    }
}

/// Whether the long form of the tests was asked for.
fn nightly() -> bool {
    std::env::var_os("SUBAGENT_NIGHTLY").is_some()
}

#[test]
fn ten_thousand_runs_under_random_faults_leave_nothing() {
    let _alone = alone();
    // What falls over on purpose says nothing.
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        if !text.contains("fell over") && !text.contains("script panics") {
            eprintln!("{text}");
        }
    }));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let counts = Arc::<Counts>::default();
    let subagents = Subagents::builder()
        .cancel_grace(5 * MS)
        .max_concurrent(NonZeroUsize::new(AT_ONCE / 2).unwrap())
        .build();
    let told = Arc::clone(&counts);
    let _subscription = subagents.subscribe(move |event| match event {
        Event::Started(_) => add(&told.started),
        Event::Ended(_) => add(&told.ended),
        _ => {}
    });
    let spawn = Spawn::builder().default_model(FaultyModel).tools(tools(&subagents)).build();
    let mut load = Load {
        faulty: subagents.register("faulty", Faulty(Arc::clone(&counts))).unwrap().leave_registered(),
        spawn: subagents.register("spawn", spawn).unwrap().leave_registered(),
        subagents,
        counts,
        next: 0,
    };
    // What the program needs for so many at once, it has after the first of them.
    runtime.block_on(load.run(1_000));
    let (census, memory, began) = (Census::take(), resident(), Instant::now());
    let (at_least, time) = if nightly() { (10_000, Duration::from_mins(2)) } else { (2_000, Duration::ZERO) };
    while load.next < 1_000 + at_least || began.elapsed() < time {
        runtime.block_on(load.run(1_000));
        assert_eq!(Census::take(), census);
    }
    let grown = resident().saturating_sub(memory);
    runtime.block_on(load.subagents.shutdown());
    drop(std::panic::take_hook());
    println!(
        "{} callers: {} runs started and ended, {} children created and disposed of; {grown} KiB more memory",
        load.next,
        read(&load.counts.started),
        read(&load.counts.created),
    );
    assert!(grown < 16 * 1024, "{grown} KiB of memory were not given back");
}
