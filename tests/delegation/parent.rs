//! A built-in agent as the parent of background children.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use subagent::agent::{Agent, Limits, Message, ModelRequest, ToolSet, TurnOptions};
use subagent::delegation::SubagentTool;
use subagent::testing::{Script, ScriptedModel, ScriptedReply};
use subagent::{Event, FollowUp, Parent, Request, Spawn, StopReason, Subagents};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::support::{
    agent, background_task, ends_with, framed, id_in, log_of, recorded, says, scripted, text, times, toolset,
};

fn calls(calls: &[(&str, &str, Value)]) -> ScriptedReply {
    calls.iter().fold(ScriptedReply::new(), |reply, (id, tool, arguments)| {
        reply.tool_call(*id, *tool, arguments.clone())
    })
}

fn starts(ids: &[&str]) -> ScriptedReply {
    calls(&ids.iter().map(|id| (*id, "subagent", background_task(id))).collect::<Vec<_>>())
}

/// The text of the result of the call `id`, as the model sees it.
fn result_of(request: &ModelRequest, id: &str) -> String {
    let messages = request.messages();
    let results = messages.iter().filter_map(|message| match message {
        Message::ToolResults { results, .. } => Some(results),
        _ => None,
    });
    results
        .flatten()
        .find(|result| result.id == id)
        .map_or_else(|| panic!("no result of {id}"), |result| text(&result.content))
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_when_every_child_was_told_of() {
    let wait = |seconds| Script::new().wait(Duration::from_secs(seconds));
    let (_subagents, provider, log) = scripted([
        wait(1).settle(subagent::Outcome::error("no disk")),
        wait(600),
        wait(3).complete("all of it"),
    ]);
    let model = ScriptedModel::new()
        .reply(starts(&["1", "2", "3"]))
        .reply(says("They work."))
        .reply_with(|request| {
            // Told of the failure: the second is not needed any more.
            let second = id_in(&result_of(request, "2")).to_string();
            calls(&[("4", "interrupt_agent", json!({"agent_id": second, "reason": "not needed"}))])
        })
        .reply(says("One is left."))
        .reply(says("All are through."));
    let mut agent = agent(&model, &toolset(&provider));
    let outcome = agent.run_turn(vec!["go".into()], TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    assert_eq!(outcome.output.to_text(), "All are through.");
    assert!(outcome.outstanding.is_empty());
    let events = log_of(&agent);
    for once in ["it failed. Diagnostic: no disk", "Diagnostic: cancelled: not needed", "\nall of it\n"] {
        assert_eq!(times(&events, once), 1, "{events:#?}");
    }
    assert_eq!(times(&events, "Subagent: Subagent"), 2, "two came as notices: {events:#?}");
    for id in ["1", "2", "3", "4"] {
        assert_eq!(
            (times(&events, &format!("call {id}: ")), times(&events, &format!("result {id}: "))),
            (1, 1)
        );
    }
    agent.delegations().close().await;
    assert_eq!((log.disposals(), log.live_children()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_is_interrupted_leaves_its_background_children_and_the_next_one_is_told() {
    let wait = |seconds| Script::new().wait(Duration::from_secs(seconds));
    let (subagents, provider, log) = scripted([
        ends_with(StopReason::Error),
        wait(600),
        wait(60).complete("all of it"),
        wait(600).text("in the foreground"),
    ]);
    let (events, _subscription) = recorded(&subagents);
    let model = ScriptedModel::new()
        .reply(starts(&["1", "2", "3"]))
        .reply(calls(&[("4", "subagent", crate::support::task("wait for me"))]))
        .reply_with(|request| {
            let second = id_in(&result_of(request, "2")).to_string();
            calls(&[
                ("5", "interrupt_agent", json!({"agent_id": second})),
                ("6", "wait_agent", json!({"timeout_seconds": 600})),
            ])
        })
        .then_always(says("All are through."));
    let mut agent = agent(&model, &toolset(&provider));
    let stop = CancellationToken::new();
    let interrupt = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        stop.cancel();
    };
    let options = TurnOptions::new().cancellation(stop.clone());
    let (outcome, ()) = tokio::join!(agent.run_turn(vec!["go".into()], options), interrupt);
    // The foreground child went with the turn, and no other.
    assert_eq!(outcome.stop_reason, StopReason::Aborted);
    // Two work, and the end of the third was not told yet.
    assert_eq!((outcome.outstanding.len(), log.live_children()), (3, 2));

    let outcome = agent.run_turn(vec!["go on".into()], TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::Completed);
    assert!(outcome.outstanding.is_empty());
    let log_lines = log_of(&agent);
    for once in [
        "it failed. Diagnostic: the reason why",
        "Diagnostic: cancelled: its parent stopped it",
        "\nall of it\n",
    ] {
        assert_eq!(times(&log_lines, once), 1, "{log_lines:#?}");
    }
    for id in ["1", "2", "3", "4", "5", "6"] {
        let (called, answered) = (format!("call {id}: "), format!("result {id}: "));
        assert_eq!((times(&log_lines, &called), times(&log_lines, &answered)), (1, 1), "{log_lines:#?}");
    }
    agent.delegations().close().await;
    let ends = events.lock().unwrap().iter().filter(|event| matches!(event, Event::Ended(_))).count();
    assert_eq!((ends, log.disposals(), log.live_children()), (4, 4, 0));
}

#[tokio::test(start_paused = true)]
async fn what_a_dropped_turn_had_taken_and_not_logged_is_told_again() {
    let (_subagents, provider, _) = scripted([Script::new().complete("done")]);
    let never = Arc::new(Notify::new());
    let hang = {
        let never = Arc::clone(&never);
        subagent::agent::tool_fn("hang", "Hangs.", json!({"type": "object"}), move |_, _| {
            let never = Arc::clone(&never);
            async move {
                never.notified().await;
                "never"
            }
        })
    };
    let model = ScriptedModel::new()
        .reply(starts(&["1"]))
        // The wait has its answer, and the response has not: nothing of it is in the log.
        .reply(calls(&[("2", "wait_agent", json!({})), ("3", "hang", json!({}))]))
        .reply(says("told"));
    let tools = toolset(&provider).add_to(&ToolSet::new().with(hang).unwrap()).unwrap();
    let mut agent = Agent::builder(Arc::new(model)).tools(tools).build();
    let turn = agent.run_turn(vec!["go".into()], TurnOptions::new());
    assert!(tokio::time::timeout(Duration::from_secs(5), turn).await.is_err());
    agent.run_turn(vec!["go on".into()], TurnOptions::new()).await;
    let events = log_of(&agent);
    assert_eq!(times(&events, "\ndone\n"), 1, "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_to_the_parent_stops_no_child_and_wakes_it() {
    let (_subagents, provider, log) = scripted([Script::new().wait(Duration::from_mins(1)).complete("done")]);
    let model = ScriptedModel::new()
        .reply(starts(&["1"]))
        .reply(says("It works."))
        .reply(says("I hear you."))
        .reply(says("Done."));
    let mut agent = agent(&model, &toolset(&provider));
    let inbox = subagent::agent::Inbox::new();
    let message = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        inbox.send(vec!["How is it going?".into()]).unwrap();
        model.called(3).await;
        assert_eq!(log.live_children(), 1);
    };
    let turn = agent.run_turn(vec!["go".into()], TurnOptions::new().inbox(inbox.clone()));
    let (outcome, ()) = tokio::join!(turn, message);
    assert_eq!(outcome.output.to_text(), "Done.");
    assert_eq!(times(&log_of(&agent), "\ndone\n"), 1);
}

#[tokio::test(start_paused = true)]
async fn nineteen_that_end_while_the_parent_is_busy_are_all_told_at_the_next_step() {
    let (_subagents, provider, _) = scripted([Script::new().wait(Duration::from_secs(1)).complete("done")]);
    let ids: Vec<String> = (0..19).map(|id| id.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let model = ScriptedModel::new()
        .reply(starts(&ids))
        .reply(ScriptedReply::new().delay(Duration::from_mins(1)).text("I was busy."))
        .reply(says("All nineteen."));
    let tools = SubagentTool::builder(&provider).in_background().max_live(32).build();
    let mut agent = agent(&model, &tools);
    let outcome = agent.run_turn(vec!["go".into()], TurnOptions::new()).await;
    assert_eq!((outcome.output.to_text(), outcome.steps), ("All nineteen.".into(), 3));
    assert_eq!(times(&log_of(&agent), "\ndone\n"), 19);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_runs_out_of_steps_names_what_still_works() {
    let (_subagents, provider, log) = scripted([Script::new().wait(Duration::from_mins(10))]);
    let mut limits = Limits::default();
    limits.steps = 2.try_into().ok();
    let model = ScriptedModel::new().reply(starts(&["1"])).reply(says("No more steps."));
    let tools = toolset(&provider).add_to(&ToolSet::new()).unwrap();
    let mut agent = Agent::builder(Arc::new(model)).tools(tools).limits(limits).build();
    let outcome = agent.run_turn(vec!["go".into()], TurnOptions::new()).await;
    assert_eq!(outcome.stop_reason, StopReason::TurnLimit);
    assert_eq!(outcome.outstanding, [agent.delegations().list()[0].id]);
    drop(agent);
    while log.live_children() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_child_ends_the_wait_at_the_idle_limit_and_a_busy_one_does_not() {
    let busy = (0..10).fold(Script::new(), |script, _| script.text(".").wait(Duration::from_secs(5)));
    let silent = Script::new().wait(Duration::from_mins(1)).complete("late");
    for (script, reason) in [(busy.complete("done"), StopReason::Completed), (silent, StopReason::TimeLimit)]
    {
        let (_subagents, provider, _) = scripted([script]);
        let mut limits = Limits::default();
        limits.idle = Some(Duration::from_secs(10));
        let model = ScriptedModel::new().reply(starts(&["1"])).reply(says("waiting")).reply(says("end"));
        let tools = toolset(&provider).add_to(&ToolSet::new()).unwrap();
        let mut agent = Agent::builder(Arc::new(model)).tools(tools).limits(limits).build();
        let outcome = agent.run_turn(vec!["go".into()], TurnOptions::new()).await;
        assert_eq!(outcome.stop_reason, reason);
    }
}

/// Who delegates once, in the background, and whose child does as it is told.
fn spawn_that_delegates(
    model: ScriptedModel,
    below: Script,
) -> (Subagents, subagent::ProviderHandle<Spawn>, Parent) {
    let (subagents, scripted, _) = scripted([below]);
    let spawn = subagents.register("spawn", Spawn::new(model)).unwrap().leave_registered();
    let tools = toolset(&scripted).add_to(&ToolSet::new()).unwrap();
    (subagents, spawn, crate::support::parent().with_tools(tools))
}

#[tokio::test(start_paused = true)]
async fn a_child_is_not_settled_while_its_own_children_work_and_they_report_to_it() {
    let model = ScriptedModel::new().reply(starts(&["1"])).reply(says("waiting")).reply_with(|request| {
        says(&format!("heard: {}", framed(&format!("{:?}", request.messages()).replace("\\n", "\n"))))
    });
    let below = Script::new().wait(Duration::from_mins(1)).complete("from below");
    let (subagents, spawn, top) = spawn_that_delegates(model, below);
    let (events, _subscription) = recorded(&subagents);
    let run = spawn.start(Request::new("go").parent(&top)).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Completed, "heard: from below"));
    let ended: Vec<_> = events
        .lock()
        .unwrap()
        .iter()
        .filter_map(
            |event| if let Event::Ended(ended) = event { Some(ended.run.provider.to_string()) } else { None },
        )
        .collect();
    assert_eq!(ended, ["scripted", "spawn"]);
    assert!(subagents.runs().is_empty());
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_run_takes_its_whole_tree_and_each_sends_its_end() {
    let model = ScriptedModel::new().reply(starts(&["1"])).reply(says("waiting"));
    let (subagents, spawn, top) = spawn_that_delegates(model, Script::new().wait(Duration::from_mins(10)));
    let ends = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&ends);
    let _subscription = subagents.subscribe(move |event| {
        if let Event::Ended(ended) = event {
            sink.lock().unwrap().push(ended.stop_reason.clone());
        }
    });
    let run = spawn.start(Request::new("go").parent(&top)).await.unwrap();
    while subagents.runs().len() < 2 {
        tokio::task::yield_now().await;
    }
    run.cancel("enough");
    let began = tokio::time::Instant::now();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Aborted);
    assert!(began.elapsed() < Duration::from_secs(1), "it is told at once");
    assert_eq!(*ends.lock().unwrap(), [StopReason::Aborted, StopReason::Aborted]);
    assert!(subagents.runs().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_fails_stops_its_children_says_which_and_tells_it_when_it_is_resumed() {
    let model = ScriptedModel::new()
        .reply(starts(&["1"]))
        .reply(ScriptedReply::new().error(subagent::agent::ModelError::other("overloaded")))
        .reply(says("I go on."));
    let (subagents, spawn, top) =
        spawn_that_delegates(model.clone(), Script::new().text("half").wait(Duration::from_mins(10)));
    let settled = spawn.start(Request::new("go").parent(&top)).await.unwrap().settle().await;
    let result = settled.result().unwrap();
    assert_eq!(result.stop_reason(), &StopReason::Error);
    let diagnostic = result.diagnostic().unwrap();
    assert!(diagnostic.contains("background agents were stopped with it: "), "{diagnostic}");
    assert!(subagents.runs().is_empty());
    let resumed = settled.resume(FollowUp::new("go on")).await.unwrap();
    assert_eq!(resumed.collect().await.into_result().unwrap().text(), "I go on.");
    let seen = format!("{:?}", model.requests()[2].messages());
    assert_eq!(
        seen.matches("it was cancelled. Diagnostic: cancelled: its parent has ended").count(),
        1,
        "{seen}"
    );
}
