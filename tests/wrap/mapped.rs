//! An outcome that a wrapper changes is changed in follow-ups, too.

use subagent::wrap::{MappedRun, Retry};
use subagent::{
    ContentKinds, Outcome, Provider, Request, Settlement, StartError, StartRequest, StopReason, Subagents,
};

use crate::stage::{Act, Stage, collected, registered, times};

/// Signs what the children of `inner` say.
struct Signed<P>(P);

subagent::supports!(Signed<P> => P);

impl<P: Provider> Provider for Signed<P> {
    type Run = MappedRun<P::Run>;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
        MappedRun::start(&self.0, request, settlement, |mut outcome: Outcome| {
            outcome.output = format!("{}, signed", outcome.output.to_text()).into();
            outcome
        })
        .await
    }

    fn content(&self) -> ContentKinds {
        self.0.content()
    }
}

#[tokio::test]
async fn a_change_reaches_the_run_and_each_of_its_follow_ups() {
    let subagents = Subagents::new();
    let handle = registered(&subagents, Signed(Stage::new([Act::completes("done"), Act::completes("done")])));

    let settled = handle.start(Request::new("go")).await.unwrap().settle().await;
    assert_eq!(settled.result().unwrap().text(), "done, signed");
    let settled = settled.resume("more").await.unwrap().settle().await;
    assert_eq!(settled.result().unwrap().text(), "1 resumed: more, signed");
    let resumed = settled.resume("still more").await.unwrap();
    assert_eq!(collected(resumed).await.text(), "1 resumed: still more, signed");

    let run = subagents.start("wrapped", Request::new("go")).await.unwrap().into_resumable().unwrap();
    let resumed = run.settle().await.resume("more").await.unwrap();
    assert_eq!(collected(resumed).await.text(), "2 resumed: more, signed");
}

#[tokio::test(start_paused = true)]
async fn a_change_happens_once_for_each_child_under_a_retry_and_once_for_a_follow_up() {
    let stage = Stage::new([Act::fails("no"), Act::completes("done")]);
    let handle = registered(&Subagents::new(), Retry::new(Signed(stage), times(2)));
    let settled = handle.start(Request::new("go")).await.unwrap().settle().await;
    assert_eq!(settled.result().unwrap().text(), "done, signed");
    let resumed = settled.resume("more").await.unwrap();
    assert_eq!(collected(resumed).await.text(), "2 resumed: more, signed");
}

#[tokio::test]
async fn a_change_that_panics_ends_the_run_with_an_error() {
    struct Broken(Stage);
    subagent::supports!(Broken:);
    impl Provider for Broken {
        type Run = MappedRun<<Stage as Provider>::Run>;

        async fn start(
            &self,
            request: StartRequest,
            settlement: Settlement,
        ) -> Result<Self::Run, StartError> {
            MappedRun::start(&self.0, request, settlement, |_outcome| panic!("broken")).await
        }
    }
    let handle = registered(&Subagents::new(), Broken(Stage::new([Act::completes("done")])));
    let result = collected(handle.start(Request::new("go")).await.unwrap()).await;
    assert_eq!(result.stop_reason(), &StopReason::Error);
}
