use std::sync::Arc;

use subagent::testing::{Script, ScriptedProvider, ScriptedRun};
use subagent::{Absent, AnyRun, Live, NoOutput, Present, Request, Subagents};
use tokio::sync::Notify;

use crate::support::{TestRun, by_hand, scripted};

fn steered() -> ScriptedProvider {
    ScriptedProvider::new(Script::new().receive().complete("done"))
}

#[tokio::test]
async fn a_run_that_can_be_steered_is_narrowed_and_steered() {
    let (subagents, _, log) = scripted(steered());
    let run: Live<AnyRun, NoOutput> = subagents.start("child", Request::new("work")).await.unwrap();
    assert!(run.run().can_steer() && run.run().can_resume());
    let id = run.id();
    let run: Live<AnyRun<Present, Absent>, NoOutput> = run.into_steerable().unwrap();
    run.send_message("hurry").await.unwrap();
    assert_eq!(run.id(), id);
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
    assert_eq!(log.messages().len(), 1);
}

#[tokio::test]
async fn both_runtime_capabilities_can_be_had_at_once_in_any_order() {
    let (subagents, _, log) = scripted(steered());
    for steer_first in [true, false] {
        let run = subagents.start("child", Request::new("work")).await.unwrap();
        let run: Live<AnyRun<Present, Present>, NoOutput> = if steer_first {
            run.into_steerable().unwrap().into_resumable().unwrap()
        } else {
            run.into_resumable().unwrap().into_steerable().unwrap()
        };
        run.send_message("hurry").await.unwrap();
        let resumed = run.settle().await.resume("and now").await.unwrap();
        resumed.send_message("hurry more").await.unwrap();
        assert_eq!(resumed.collect().await.into_result().unwrap().text(), "done");
    }
    assert_eq!(log.live_children(), 0);
}

#[tokio::test]
async fn a_settled_run_is_narrowed_too() {
    let (subagents, _, _log) = scripted(ScriptedProvider::replying("done").without_steering());
    let run = subagents.start("child", Request::new("work")).await.unwrap();
    let settled = run.settle().await.into_resumable().unwrap();
    let resumed = settled.resume("and now").await.unwrap();
    assert_eq!(resumed.collect().await.into_result().unwrap().text(), "done");
}

#[tokio::test]
async fn what_a_run_lacks_gives_the_handle_back_as_it_was() {
    let go = Arc::new(Notify::new());
    let provider = ScriptedProvider::new(Script::new().wait_for(&go).complete("done"));
    let (subagents, _, log) = scripted(provider.without_steering().without_resuming());
    let run = subagents.start("child", Request::new("work")).await.unwrap();
    assert!(!run.run().can_steer() && !run.run().can_resume());
    let run = run.into_steerable().unwrap_err();
    let run = run.into_resumable().unwrap_err();
    let run = run.downcast::<ScriptedRun>().unwrap_err();
    assert!(!run.cancellation().is_cancelled());
    assert_eq!(log.live_children(), 1);
    go.notify_one();
    let settled = run.settle().await.into_resumable().unwrap_err();
    assert_eq!(settled.result().unwrap().text(), "done");
    settled.dispose().await.unwrap();
    assert_eq!(log.disposals(), 1);
}

#[tokio::test]
async fn a_run_gets_its_type_back() {
    let (subagents, handle, _log) = scripted(steered());
    let run = subagents.start("child", Request::new("work")).await.unwrap();
    let run: Live<ScriptedRun, NoOutput> = run.downcast().unwrap();
    run.send_message("hurry").await.unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");

    let narrowed = handle.start(Request::new("work")).await.unwrap().erase().into_steerable().unwrap();
    let run = narrowed.downcast::<ScriptedRun>().unwrap();
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn erasing_twice_loses_nothing() {
    let (subagents, _, _log) = scripted(steered());
    let run = subagents.start("child", Request::new("work")).await.unwrap().erase();
    assert!(run.run().can_steer() && run.run().can_resume());
    let run = run.into_steerable().unwrap().erase().into_steerable().unwrap();
    run.send_message("hurry").await.unwrap();
    let run = run.erase().downcast::<ScriptedRun>().unwrap();
    assert_eq!(run.collect().await.into_result().unwrap().text(), "done");
}

#[tokio::test]
async fn runs_of_several_providers_are_held_together() {
    let subagents = Subagents::new();
    let (provider, mut settlements) = by_hand();
    let by_hand = subagents.register("by hand", provider).unwrap();
    let scripted = subagents.register("scripted", ScriptedProvider::replying("played")).unwrap();
    let mut runs: Vec<Live<AnyRun, NoOutput>> = vec![
        by_hand.start(Request::new("work")).await.unwrap().erase(),
        scripted.start(Request::new("work")).await.unwrap().erase(),
        subagents.start("scripted", Request::new("work")).await.unwrap(),
    ];
    settlements.recv().await.unwrap().complete("made");
    let first = runs.remove(0).downcast::<TestRun>().unwrap();
    assert_eq!(first.collect().await.into_result().unwrap().text(), "made");
    for run in runs {
        assert_eq!(run.collect().await.into_result().unwrap().text(), "played");
    }
}
