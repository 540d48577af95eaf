//! Children of the built-in agent: a whole run, forks, steering, many at once.

use std::time::Instant;

use futures::future::join_all;
use futures::stream;
use subagent::agent::{
    AssistantMessage, FinishReason, MessageOrigin, Model, ModelEvent, ModelRequest, ModelStream,
    SessionEventKind, SessionHeader, SessionWriter, UserMessage,
};
use subagent::{
    Fork, Live, NoOutput, Parent, Provider, ProviderHandle, Request, SessionId, Spawn, StopReason, Subagents,
};
use subagent_benches::one_task::base;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use crate::measure::{current_thread, in_turns, nanos_each, two_workers};
use crate::steered::{Steered, SteeredRun};
use crate::table::{Bar, Table};

const ROUNDS: usize = 11;

/// Says one word at once.
pub struct Ready;

impl Model for Ready {
    fn name(&self) -> &'static str {
        "ready"
    }

    fn stream(&self, _request: ModelRequest) -> ModelStream {
        let finish = ModelEvent::Finish(FinishReason::Stop);
        ModelStream::new(stream::iter([Ok(ModelEvent::text("ok")), Ok(finish)]))
    }
}

pub fn measure(table: &mut Table) {
    let runtime = current_thread();
    one_turn(table, &runtime);
    forks(table, &runtime);
    steering(table, &runtime);
    for (name, runtime) in [("current thread", current_thread()), ("two workers", two_workers())] {
        for children in [1, 10, 1_000] {
            at_once(table, &runtime, name, children);
        }
    }
}

fn one_turn(table: &mut Table, runtime: &Runtime) {
    const RUNS: u32 = 2_000;
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(Ready)).expect("the name is free").leave_registered();
    let ours = || nanos_each(runtime, RUNS, whole_runs(spawn.clone(), None, RUNS));
    let compared = in_turns(ROUNDS, ours, || crate::seam::base_runs(runtime));
    table.compared(
        "an in-process child: start, one scripted turn, disposal, against a bare task",
        &compared,
        None,
    );
}

async fn whole_runs<P: Provider>(provider: ProviderHandle<P>, parent: Option<Parent>, runs: u32) {
    for _ in 0..runs {
        let mut request = Request::new("x");
        if let Some(parent) = &parent {
            request = request.parent(parent);
        }
        let collected = provider.start(request).await.expect("it starts").collect().await;
        assert!(collected.result.is_ok_and(|result| result.is_completed()));
    }
}

fn forks(table: &mut Table, runtime: &Runtime) {
    const RUNS: u32 = 500;
    let subagents = Subagents::new();
    let fork = subagents
        .register("fork", Fork::builder().default_model(Ready).build())
        .expect("free")
        .leave_registered();
    let forked =
        |parent: &Parent| nanos_each(runtime, RUNS, whole_runs(fork.clone(), Some(parent.clone()), RUNS));
    let short = parent_with(10);
    for events in [1_000, 100_000] {
        let long = parent_with(events);
        let compared = in_turns(ROUNDS, || forked(&long), || forked(&short));
        let what = format!("a fork of a parent's log of {events} events and its turn, against one of 10");
        table.compared(&what, &compared, Some(Bar::AtMost(1.2)));
    }
}

/// A parent whose log has about this many events, in turns of six.
fn parent_with(events: usize) -> Parent {
    let mut log = SessionWriter::new(SessionHeader::new(SessionId::new()));
    for _ in 0..events.div_ceil(6) {
        let said = AssistantMessage::new("an answer");
        let turn = [
            SessionEventKind::TurnStart,
            SessionEventKind::User(UserMessage::new(MessageOrigin::Prompt, vec!["a question".into()])),
            SessionEventKind::StepStart,
            SessionEventKind::Assistant(said),
            SessionEventKind::StepEnd { usage: Vec::new() },
            SessionEventKind::TurnEnd { reason: StopReason::Completed },
        ];
        for event in turn {
            log.append(event).expect("the turn is well-formed");
        }
    }
    Parent::new("agent", "session").with_log(log.session().clone())
}

fn steering(table: &mut Table, runtime: &Runtime) {
    const MESSAGES: u32 = 5_000;
    let ours = || {
        let (seen, mut heard) = mpsc::unbounded_channel();
        let subagents = Subagents::new();
        let steered = subagents.register("steered", Steered(seen)).expect("free").leave_registered();
        nanos_each(runtime, MESSAGES, async move {
            let run: Live<SteeredRun, NoOutput> = steered.start(Request::new("x")).await.expect("it starts");
            for _ in 0..MESSAGES {
                run.send_message("more").await.expect("it is taken");
                heard.recv().await.expect("it is seen");
            }
            run.dispose().await.expect("it ends");
        })
    };
    let bare = || {
        let (seen, mut heard) = mpsc::unbounded_channel();
        let (sender, mut inbox) = mpsc::unbounded_channel::<String>();
        nanos_each(runtime, MESSAGES, async move {
            let child = tokio::spawn(async move {
                while inbox.recv().await.is_some() {
                    seen.send(()).ok();
                }
            });
            for _ in 0..MESSAGES {
                sender.send("more".to_owned()).expect("it is taken");
                heard.recv().await.expect("it is seen");
            }
            drop(sender);
            child.await.expect("it ends");
        })
    };
    let compared = in_turns(ROUNDS, ours, bare);
    table.compared(
        "steering: from `send_message` to the child and back, against a bare channel",
        &compared,
        None,
    );
}

fn at_once(table: &mut Table, runtime: &Runtime, name: &str, children: usize) {
    let repeats = 2_000_usize.div_ceil(children);
    let count = u32::try_from(children * repeats).unwrap_or(u32::MAX);
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(Ready)).expect("free").leave_registered();
    let ours = || {
        let spawn = spawn.clone();
        nanos_each(runtime, count, async move {
            for _ in 0..repeats {
                let child =
                    |_| async { spawn.start(Request::new("x")).await.expect("it starts").collect().await };
                for collected in join_all((0..children).map(child)).await {
                    assert!(collected.result.is_ok_and(|result| result.is_completed()));
                }
            }
        })
    };
    let bare = || {
        nanos_each(runtime, count, async move {
            for _ in 0..repeats {
                join_all((0..children).map(|_| base())).await;
            }
        })
    };
    let compared = in_turns(ROUNDS, ours, bare);
    let what =
        format!("{children} in-process children at once, for each, against as many bare tasks, {name}");
    table.compared(&what, &compared, None);
}

/// How long it takes to start one of so many idle children, now.
pub fn start_rate(began: Instant, children: usize) -> f64 {
    began.elapsed().as_secs_f64() * 1e6 / children as f64
}

/// A model whose call never ends: its child is idle.
pub struct Idle;

impl Model for Idle {
    fn name(&self) -> &'static str {
        "idle"
    }

    fn stream(&self, _request: ModelRequest) -> ModelStream {
        ModelStream::new(stream::pending())
    }
}
