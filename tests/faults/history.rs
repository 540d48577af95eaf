//! What a run is, it stays, whatever becomes of its provider, its siblings and its slot.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use subagent::agent::Limits;
use subagent::testing::{ScriptedModel, ScriptedProvider, ScriptedReply};
use subagent::{
    DisposeError, Event, Live, NoOutput, Outcome, Provider, Request, Run, Settlement, Spawn, StartError,
    StartRequest, StopReason, Subagents,
};

#[tokio::test]
async fn a_run_is_resumed_after_its_provider_is_gone_and_its_events_keep_the_name() {
    let subagents = Subagents::new();
    let names = Arc::<Mutex<Vec<String>>>::default();
    let sink = Arc::clone(&names);
    let _subscription = subagents.subscribe(move |event| match event {
        Event::Started(started) => sink.lock().unwrap().push(started.run.provider.to_string()),
        Event::Ended(ended) => sink.lock().unwrap().push(ended.run.provider.to_string()),
        _ => {}
    });
    let first = ScriptedProvider::replying("first");
    let log = first.log();
    let registration = subagents.register("ada", first).unwrap();
    let settled = registration.start(Request::new("work")).await.unwrap().settle().await;
    drop(registration);
    let other = ScriptedProvider::replying("other");
    let other_log = other.log();
    let _other = subagents.register("ada", other).unwrap();
    let again = settled.resume("go on").await.unwrap();
    assert_eq!(again.collect().await.into_result().unwrap().text(), "first");
    assert_eq!(*names.lock().unwrap(), ["ada"; 4]);
    assert_eq!((log.messages().len(), log.disposals()), (1, 1));
    assert!(other_log.requests().is_empty(), "who has the name now is not asked");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_hangs_is_ended_by_its_idle_limit_and_its_slot_is_free() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().text("so far").hang())
        .then_always(ScriptedReply::new().text("done"));
    let mut limits = Limits::default();
    limits.idle = Some(Duration::from_mins(1));
    let subagents = Subagents::builder().max_concurrent(NonZeroUsize::MIN).build();
    let spawn = Spawn::builder().default_model(model).limits(limits).build();
    let spawn = subagents.register("spawn", spawn).unwrap();
    let hung = spawn.start(Request::new("work")).await.unwrap();
    // Waits for the slot, which its holder does not give up.
    let next = spawn.start(Request::new("work")).await.unwrap();
    let result = hung.result().await.unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::TimeLimit, "so far"));
    assert_eq!(next.collect().await.into_result().unwrap().text(), "done");
    hung.dispose().await.unwrap();
}

/// Ends at once when it is disposed of.
struct Quick(Mutex<Option<Settlement>>);

impl Run for Quick {
    subagent::not_steerable!();
    subagent::not_resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        Ok(())
    }
}

struct Quickly;

subagent::supports!(Quickly:);

impl Provider for Quickly {
    type Run = Quick;

    async fn start(&self, _request: StartRequest, settlement: Settlement) -> Result<Quick, StartError> {
        Ok(Quick(Mutex::new(Some(settlement))))
    }
}

#[tokio::test]
async fn a_run_that_is_disposed_of_while_it_ends_ends_once_and_nobody_wakes_too_early() {
    let subagents = Subagents::new();
    let provider = subagents.register("quick", Quickly).unwrap();
    let live = Arc::<Mutex<Option<Live<Quick, NoOutput>>>>::default();
    // Noted, not asserted: a listener's panic is contained.
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let (held, told, registry) = (Arc::clone(&live), Arc::clone(&seen), subagents.clone());
    let _subscription = subagents.subscribe(move |event| {
        let Event::Ended(ending) = event else { return };
        let note = |what: String| told.lock().unwrap().push(what);
        note(format!("ended: {}", ending.stop_reason));
        if let Some(control) = registry.control(ending.run.run_id) {
            note(format!("settled: {}", control.settled().now_or_never().is_some()));
            control.cancel("too late");
        }
        let live = held.lock().unwrap().take();
        if let Some(live) = live {
            note(format!("result: {}", live.result().now_or_never().is_some()));
            note(format!(
                "disposed of: {:?}",
                live.dispose().now_or_never().map(|disposed| disposed.is_ok())
            ));
        }
    });
    let run = provider.start(Request::new("work")).await.unwrap();
    let settlement = run.run().0.lock().unwrap().take().unwrap();
    let control = subagents.control(run.id()).unwrap();
    *live.lock().unwrap() = Some(run);
    settlement.settle(Outcome::completed("done"));
    control.settled().await;
    assert_eq!(
        *seen.lock().unwrap(),
        ["ended: completed", "settled: false", "result: false", "disposed of: Some(true)"]
    );
    assert!(live.lock().unwrap().is_none() && subagents.runs().is_empty());
}
