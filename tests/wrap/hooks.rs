//! A wrapper's run does its work in the hooks of `Run`: a typed handle and one by name go the same way.

use std::sync::{Arc, Mutex};

use subagent::{
    ContentBlock, DisposeError, Provider, Request, Resumable, ResumeError, Run, Settlement, StartError,
    StartRequest, SteerError, Steerable, Subagents,
};

use crate::stage::{Act, Stage, collected, registered};

/// Notes messages and follow-ups in the hooks alone; what it forwards in `Steerable` and `Resumable` passes by.
struct Noted<P> {
    inner: P,
    seen: Arc<Mutex<Vec<&'static str>>>,
}

subagent::supports!(Noted<P> => P);

impl<P: Provider> Provider for Noted<P> {
    type Run = NotedRun<P::Run>;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
        Ok(NotedRun { run: self.inner.start(request, settlement).await?, seen: Arc::clone(&self.seen) })
    }
}

struct NotedRun<R> {
    run: R,
    seen: Arc<Mutex<Vec<&'static str>>>,
}

impl<R: Run> Run for NotedRun<R> {
    type Steer = R::Steer;
    type Resume = R::Resume;

    async fn dispose(self) -> Result<(), DisposeError> {
        self.run.dispose().await
    }

    async fn steer_with(&self, content: Vec<ContentBlock>, proof: R::Steer) -> Result<(), SteerError> {
        self.seen.lock().unwrap().push("message");
        self.run.steer_with(content, proof).await
    }

    async fn resume_with(
        &self,
        content: Vec<ContentBlock>,
        settlement: Settlement,
        proof: R::Resume,
    ) -> Result<(), ResumeError> {
        self.seen.lock().unwrap().push("follow-up");
        self.run.resume_with(content, settlement, proof).await
    }
}

impl<R: Steerable> Steerable for NotedRun<R> {
    async fn send_message(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        self.run.send_message(content).await
    }
}

impl<R: Resumable> Resumable for NotedRun<R> {
    async fn resume(&self, content: Vec<ContentBlock>, settlement: Settlement) -> Result<(), ResumeError> {
        self.run.resume(content, settlement).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_typed_handle_and_one_by_name_go_through_the_hooks_of_the_run() {
    let hangs = || Stage::new([Act::hangs(), Act::hangs()]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let subagents = Subagents::new();
    let typed = registered(&subagents, Noted { inner: hangs(), seen: Arc::clone(&seen) });

    let run = typed.start(Request::new("go")).await.unwrap();
    run.send_message("end").await.unwrap();
    let resumed = run.settle().await.resume("more").await.unwrap();
    assert_eq!(collected(resumed).await.text(), "1 resumed: more");
    assert_eq!(std::mem::take(&mut *seen.lock().unwrap()), ["message", "follow-up"]);

    let run = subagents.start("wrapped", Request::new("go")).await.unwrap();
    let run = run.into_steerable().unwrap().into_resumable().unwrap();
    run.send_message("end").await.unwrap();
    let resumed = run.settle().await.resume("more").await.unwrap();
    assert_eq!(collected(resumed).await.text(), "2 resumed: more");
    assert_eq!(*seen.lock().unwrap(), ["message", "follow-up"]);
}
