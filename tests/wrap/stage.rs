//! A provider that plays one act per start, and counts what is alive.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use subagent::{
    ContentBlock, DepthLimit, DisposeError, Event, Live, NoOutput, Outcome, Persona, Provider,
    ProviderHandle, Resumable, ResumeError, Run, Settlement, StartError, StartRequest, SteerError, Steerable,
    StopReason, SubagentResult, Subagents,
};

pub(crate) fn times(attempts: u32) -> NonZeroU32 {
    NonZeroU32::new(attempts).unwrap()
}

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// Lets every task that is ready run.
pub(crate) async fn settle_down() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

pub(crate) fn registered<P: Provider>(subagents: &Subagents, provider: P) -> ProviderHandle<P> {
    subagents.register("wrapped", provider).unwrap().leave_registered()
}

pub(crate) async fn collected<R: Run>(run: Live<R, NoOutput>) -> SubagentResult {
    let collected = run.collect().await;
    collected.disposal.unwrap();
    collected.result.unwrap()
}

/// The events of all runs, from here on.
pub(crate) fn events(subagents: &Subagents) -> (subagent::Subscription, Arc<Mutex<Vec<String>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let subscription = subagents.subscribe(move |event| {
        seen.lock().unwrap().push(match event {
            Event::Started(_) => "started".to_owned(),
            Event::Ended(ended) => ended.stop_reason.to_string(),
            _ => return,
        });
    });
    (subscription, events)
}

/// What one child does.
#[derive(Clone)]
pub(crate) struct Act {
    start_takes: Duration,
    starts: bool,
    says: &'static str,
    ends: Option<(Duration, Outcome)>,
    disposal_takes: Duration,
    ignores: bool,
}

impl Act {
    pub(crate) fn hangs() -> Self {
        let none = Duration::ZERO;
        Self { start_takes: none, starts: true, says: "", ends: None, disposal_takes: none, ignores: false }
    }

    pub(crate) fn does_not_start() -> Self {
        Self { starts: false, ..Self::hangs() }
    }

    /// Settles inside of the start.
    pub(crate) fn ends(outcome: Outcome) -> Self {
        Self { ends: Some((Duration::ZERO, outcome)), ..Self::hangs() }
    }

    pub(crate) fn fails(diagnostic: &str) -> Self {
        Self::ends(Outcome::error(diagnostic))
    }

    pub(crate) fn completes(text: &str) -> Self {
        Self::ends(Outcome::completed(text))
    }

    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.ends = self.ends.map(|(_, outcome)| (delay, outcome));
        self
    }

    pub(crate) fn saying(self, says: &'static str) -> Self {
        Self { says, ..self }
    }

    pub(crate) fn starting_for(self, start_takes: Duration) -> Self {
        Self { start_takes, ..self }
    }

    pub(crate) fn disposed_for(self, disposal_takes: Duration) -> Self {
        Self { disposal_takes, ..self }
    }

    pub(crate) fn ignoring(self) -> Self {
        Self { ignores: true, ..self }
    }
}

/// Plays its acts one after the other; there must be one for each start.
#[derive(Clone)]
pub(crate) struct Stage(Arc<Inner>);

struct Inner {
    acts: Mutex<VecDeque<Act>>,
    alive: Arc<AtomicUsize>,
    log: Mutex<Vec<String>>,
    starts: AtomicUsize,
}

subagent::supports!(Stage: DepthLimit, Persona);

impl Stage {
    pub(crate) fn new(acts: impl IntoIterator<Item = Act>) -> Self {
        Self(Arc::new(Inner {
            acts: Mutex::new(acts.into_iter().collect()),
            alive: Arc::default(),
            log: Mutex::default(),
            starts: AtomicUsize::new(0),
        }))
    }

    /// How many children are not gone.
    pub(crate) fn alive(&self) -> usize {
        self.0.alive.load(Ordering::SeqCst)
    }

    /// How many starts there were.
    pub(crate) fn starts(&self) -> usize {
        self.0.starts.load(Ordering::SeqCst)
    }

    /// What came to pass, in order.
    pub(crate) fn log(&self) -> Vec<String> {
        self.0.log.lock().unwrap().clone()
    }
}

struct Guard(Arc<AtomicUsize>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Provider for Stage {
    type Run = StageRun;

    async fn start(&self, mut request: StartRequest, settlement: Settlement) -> Result<StageRun, StartError> {
        let number = self.0.starts.fetch_add(1, Ordering::SeqCst) + 1;
        let act = self.0.acts.lock().unwrap().pop_front().expect("an act for each start");
        self.0.alive.fetch_add(1, Ordering::SeqCst);
        let guard = Guard(Arc::clone(&self.0.alive));
        self.0.log.lock().unwrap().push(format!("start {number} at {} alive", self.alive()));
        if !act.ignores {
            request.take::<DepthLimit>();
            request.take::<Persona>();
        }
        tokio::time::sleep(act.start_takes).await;
        if !act.starts {
            return Err(StartError::failed(format!("no child {number}")));
        }
        if !act.says.is_empty() {
            settlement.progress().text(act.says);
        }
        let (kept, task) = match act.ends {
            None => (Some(settlement), None),
            Some((Duration::ZERO, outcome)) => {
                settlement.settle(outcome);
                (None, None)
            }
            Some((delay, outcome)) => {
                let task = tokio::spawn(async move {
                    tokio::time::sleep(delay).await;
                    settlement.settle(outcome);
                });
                (None, Some(task))
            }
        };
        Ok(StageRun {
            number,
            stage: self.clone(),
            settlement: Mutex::new(kept),
            task,
            disposal_takes: act.disposal_takes,
            _guard: guard,
        })
    }
}

pub(crate) struct StageRun {
    number: usize,
    stage: Stage,
    settlement: Mutex<Option<Settlement>>,
    task: Option<tokio::task::JoinHandle<()>>,
    disposal_takes: Duration,
    _guard: Guard,
}

impl Run for StageRun {
    subagent::steerable!();
    subagent::resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        tokio::time::sleep(self.disposal_takes).await;
        self.stage.0.log.lock().unwrap().push(format!("disposed {}", self.number));
        Ok(())
    }
}

impl Steerable for StageRun {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        let text = content.iter().filter_map(ContentBlock::as_text).collect::<String>();
        if text == "end" {
            let settlement = self.settlement.lock().unwrap().take();
            settlement.unwrap().settle(Outcome::new(StopReason::Error));
        }
        self.stage.0.log.lock().unwrap().push(format!("{} hears {text}", self.number));
        Ok(())
    }
}

impl Resumable for StageRun {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        let text = content.iter().filter_map(ContentBlock::as_text).collect::<String>();
        settlement.complete(format!("{} resumed: {text}", self.number));
        Ok(())
    }
}

impl Drop for StageRun {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}
