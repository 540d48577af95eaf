use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::script::{DisposeStep, Script, Step};
use super::scripted_provider::{Scripts, ends};
use crate::content::ContentBlock;
use crate::error::{DisposeError, ResumeError, SteerError};
use crate::result::Outcome;
use crate::run::{Presence, Present, Resumable, Run, Settlement, Steerable};
use crate::sync::lock;

/// A run of a [`ScriptedProvider`](super::ScriptedProvider).
pub struct ScriptedRun<Steer = Present, Resume = Present> {
    scripts: Arc<Scripts>,
    structured: Structured,
    dispose: DisposeStep,
    turn: Mutex<Turn>,
    has: PhantomData<fn() -> (Steer, Resume)>,
}

/// The turn under way or the last one.
struct Turn {
    inbox: Arc<Inbox>,
    /// Its task, behind those of earlier turns that were settled in their child's place and have yet to end.
    tasks: Vec<JoinHandle<()>>,
}

impl<Steer, Resume> ScriptedRun<Steer, Resume> {
    pub(super) fn new(child: Child, script: Script) -> Self {
        Self {
            scripts: Arc::clone(&child.scripts),
            structured: child.structured.clone(),
            dispose: script.dispose.clone(),
            turn: Mutex::new(child.spawn(script)),
            has: PhantomData,
        }
    }

    fn send(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        let inbox = Arc::clone(&lock(&self.turn).inbox);
        if inbox.push(content) { Ok(()) } else { Err(SteerError::Settled) }
    }

    fn follow_up(&self, content: Vec<ContentBlock>, settlement: Settlement) {
        self.scripts.log.with(|seen| seen.messages.push(content));
        let child = Child::new(Arc::clone(&self.scripts), self.structured.clone(), settlement);
        let next = child.spawn(self.scripts.next());
        let mut turn = lock(&self.turn);
        turn.tasks.retain(|task| !task.is_finished());
        for task in &turn.tasks {
            task.abort();
        }
        turn.inbox = next.inbox;
        turn.tasks.extend(next.tasks);
    }
}

impl<Steer: Presence, Resume: Presence> Run for ScriptedRun<Steer, Resume> {
    type Steer = Steer;
    type Resume = Resume;

    async fn dispose(self) -> Result<(), DisposeError> {
        let tasks = std::mem::take(&mut lock(&self.turn).tasks);
        for task in tasks {
            task.abort();
            // Ended by the abort, by a scripted panic, or by itself: either way it is over.
            task.await.ok();
        }
        self.scripts.log.with(|seen| seen.disposals += 1);
        match &self.dispose {
            DisposeStep::Succeed => Ok(()),
            DisposeStep::Fail(message) => Err(DisposeError::failed(message.clone())),
            #[expect(clippy::panic, reason = "the script says so")]
            DisposeStep::Panic(message) => panic!("{message}"),
            DisposeStep::Wait(time) => {
                tokio::time::sleep(*time).await;
                Ok(())
            }
        }
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, _proof: Steer) -> Result<(), SteerError> {
        self.send(content)
    }

    async fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        _proof: Resume,
    ) -> Result<(), ResumeError> {
        self.follow_up(content, settlement);
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<Resume: Presence> Steerable for ScriptedRun<Present, Resume> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.send(content)
    }
}

#[diagnostic::do_not_recommend]
impl<Steer: Presence> Resumable for ScriptedRun<Steer, Present> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.follow_up(content, settlement);
        Ok(())
    }
}

impl<Steer, Resume> Drop for ScriptedRun<Steer, Resume> {
    fn drop(&mut self) {
        for task in &lock(&self.turn).tasks {
            task.abort();
        }
    }
}

impl<Steer, Resume> fmt::Debug for ScriptedRun<Steer, Resume> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedRun").finish_non_exhaustive()
    }
}

/// Which structured value completed runs carry.
#[derive(Debug, Clone)]
pub(super) enum Structured {
    NotAsked,
    Reply,
    Configured(Value),
}

/// A child that plays a script.
pub(super) struct Child {
    scripts: Arc<Scripts>,
    structured: Structured,
    settlement: Option<Settlement>,
    inbox: Arc<Inbox>,
}

impl Child {
    pub(super) fn new(scripts: Arc<Scripts>, structured: Structured, settlement: Settlement) -> Self {
        scripts.log.with(|seen| seen.live += 1);
        Self { scripts, structured, settlement: Some(settlement), inbox: Arc::default() }
    }

    /// Plays the part of the script that belongs to the provider's start.
    pub(super) async fn play_in_start(mut self, script: &Script) -> Result<Self, String> {
        self.play(&script.in_start, script.ignores_cancel).await.map(|()| self)
    }

    fn spawn(mut self, script: Script) -> Turn {
        let inbox = Arc::clone(&self.inbox);
        let task = tokio::spawn(async move {
            if self.play(&script.steps, script.ignores_cancel).await.is_ok()
                && !script.in_start.iter().chain(&script.steps).any(ends)
            {
                self.wait(std::future::pending(), script.ignores_cancel).await;
            }
        });
        Turn { inbox, tasks: vec![task] }
    }

    async fn play(&mut self, steps: &[Step], ignores_cancel: bool) -> Result<(), String> {
        for step in steps {
            match step {
                Step::Report(update) => {
                    if let Some(settlement) = &self.settlement {
                        settlement.progress().report(update.clone());
                    }
                }
                Step::Wait(time) => self.wait(tokio::time::sleep(*time), ignores_cancel).await,
                Step::WaitFor(event) => self.wait(event.notified(), ignores_cancel).await,
                Step::Receive => {
                    let inbox = Arc::clone(&self.inbox);
                    let log = self.scripts.log.clone();
                    let received = async {
                        let message = inbox.next().await;
                        log.with(|seen| seen.messages.push(message));
                    };
                    self.wait(received, ignores_cancel).await;
                }
                Step::Settle(outcome) => self.settle((**outcome).clone()),
                Step::LoseSettlement => self.settlement = None,
                #[expect(clippy::panic, reason = "the script says so")]
                Step::Panic(message) => panic!("{message}"),
                Step::Fail(message) => return Err(message.clone()),
                Step::Hang => std::future::pending().await,
            }
        }
        Ok(())
    }

    /// Waits, unless the run is cancelled, which ends it as aborted.
    async fn wait(&mut self, event: impl Future<Output = ()>, ignores_cancel: bool) {
        let cancellation = self.settlement.as_ref().map(Settlement::cancellation);
        match cancellation {
            Some(cancellation) if !ignores_cancel => {
                let cancelled = tokio::select! {
                    () = cancellation.cancelled() => true,
                    () = event => false,
                };
                if cancelled {
                    self.settle(Outcome::new(crate::StopReason::Aborted));
                }
            }
            _ => event.await,
        }
    }

    fn settle(&mut self, mut outcome: Outcome) {
        let Some(settlement) = self.settlement.take() else { return };
        let unread = self.inbox.close();
        if outcome.stop_reason.is_completed() {
            self.scripts.log.with(|seen| seen.messages.extend(unread));
            if outcome.structured.is_none() {
                outcome.structured = match &self.structured {
                    Structured::NotAsked => None,
                    Structured::Reply => Some(json!({ "reply": outcome.output.to_text() })),
                    Structured::Configured(value) => Some(value.clone()),
                };
            }
        } else {
            outcome.undelivered.extend(unread);
        }
        settlement.settle(outcome);
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.inbox.close();
        self.scripts.log.with(|seen| seen.live -= 1);
    }
}

/// Messages that were accepted and not yet read.
#[derive(Default)]
struct Inbox {
    state: Mutex<InboxState>,
    arrived: Notify,
}

#[derive(Default)]
struct InboxState {
    messages: VecDeque<Vec<ContentBlock>>,
    closed: bool,
}

impl Inbox {
    fn push(&self, message: Vec<ContentBlock>) -> bool {
        let mut state = lock(&self.state);
        if state.closed {
            return false;
        }
        state.messages.push_back(message);
        self.arrived.notify_one();
        true
    }

    async fn next(&self) -> Vec<ContentBlock> {
        loop {
            let next = lock(&self.state).messages.pop_front();
            if let Some(message) = next {
                return message;
            }
            self.arrived.notified().await;
        }
    }

    /// Accepts no more, and returns what was not read.
    fn close(&self) -> Vec<Vec<ContentBlock>> {
        let mut state = lock(&self.state);
        state.closed = true;
        std::mem::take(&mut state.messages).into()
    }
}
