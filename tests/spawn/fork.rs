//! `Fork`: a child begins with its parent's completed turns and answers with its own words alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use subagent::agent::{
    Agent, AssistantMessage, MessageOrigin, ModelRequest, SessionEventKind, SessionHeader, SessionWriter,
    ToolCall, ToolSet, TurnOptions, UsageLedger, UserMessage, tool_fn,
};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{
    ChildSetupError, Fork, Parent, ProviderHandle, Request, SessionId, Spawn, StartError, StopReason,
    Subagents,
};
use tokio_util::sync::CancellationToken;

use super::support::{chain, conversation, parent, recorded, says, shown, tools};

fn registered() -> (Subagents, ProviderHandle<Fork>) {
    let subagents = Subagents::new();
    let handle = subagents.register("fork", Fork::new()).unwrap().leave_registered();
    (subagents, handle)
}

fn parent_of(agent: &Agent) -> Parent {
    Parent::from(&agent.as_caller(CancellationToken::new(), UsageLedger::new()))
}

async fn told(agent: &mut Agent, prompts: &[&str]) {
    for prompt in prompts {
        agent.run_turn(vec![(*prompt).into()], TurnOptions::new()).await;
    }
}

/// What the agent said or was told, without notes.
fn said(session: &subagent::agent::Session) -> Vec<String> {
    let snapshot = session.snapshot();
    let texts = snapshot.events().filter_map(|event| match &event.kind {
        SessionEventKind::User(message) if message.origin != MessageOrigin::Notice => {
            Some(super::support::text(&message.content))
        }
        SessionEventKind::Assistant(message) => Some(message.content.to_text().into_owned()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_fork_begins_with_its_parents_completed_turns() {
    let model = ScriptedModel::new()
        .reply(says("one"))
        .reply(says("two").usage(1000, 1000))
        .reply(says("the fork's").usage(5, 7));
    let mut top =
        Agent::builder(Arc::new(model.clone())).system_prompt("You help.").tools(tools(&["read"])).build();
    told(&mut top, &["first", "second"]).await;
    let prefix = top.session().completed_prefix();
    let (_subagents, fork) = registered();
    let run = fork.start(Request::new("task").parent(&parent_of(&top))).await.unwrap();
    let settled = run.settle().await;
    let header = settled.run().session().header().clone();
    assert_eq!(
        (header.seed_length, header.parent.as_ref()),
        (prefix.len(), Some(&top.session().header().id))
    );
    let snapshot = settled.run().session().snapshot();
    let inherited: Vec<_> = snapshot.events().take(usize::try_from(prefix.len()).unwrap()).collect();
    assert!(inherited.into_iter().zip(prefix.events()).all(|(one, other)| std::ptr::eq(one, other)));
    assert_eq!(snapshot.completed_prefix().turns(), 3);
    assert_eq!(said(settled.run().session()), ["first", "one", "second", "two", "task", "the fork's"]);
    // The request is the parent's, longer: system prompt, tools and conversation.
    let (before, forked) = (&model.requests()[1], &model.requests()[2]);
    assert_eq!((&forked.system_prompt, shown(forked)), (&before.system_prompt, shown(before)));
    let told = |request: &ModelRequest| request.tools.definitions().cloned().collect::<Vec<_>>();
    assert_eq!(told(forked), told(before));
    // Byte for byte, but for what is new.
    let (seen, new) = (before.messages(), forked.messages());
    assert_eq!(new[..seen.len()], seen);
    let (before, forked) = (conversation(before), conversation(forked));
    assert_eq!(forked[..before.len()], before);
    assert!(forked[4].starts_with("user: You are a subagent."), "{forked:?}");
    assert!(
        forked[4].ends_with("do that and nothing else, yourself, and end with the result."),
        "{forked:?}"
    );
    assert_eq!(forked[5], "user: task");
    // Only the child's own part counts.
    let result = settled.result().unwrap();
    assert_eq!((&*result.text(), result.usage().own[0].output_tokens), ("the fork's", Some(7)));
    // That it did nothing but talk can be seen.
    let calls = snapshot.own_events().filter(|event| matches!(event.kind, SessionEventKind::ToolCall(_)));
    assert_eq!(calls.count(), 0);
    // The parent's log is as it was.
    assert_eq!(said(top.session()), ["first", "one", "second", "two"]);
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn a_fork_from_within_a_turn_leaves_the_turn_in_flight_out() {
    let (subagents, fork) = registered();
    let sessions = Arc::new(Mutex::new(Vec::new()));
    let (seen, handle) = (Arc::clone(&sessions), fork.clone());
    let delegate = tool_fn("delegate", "Delegates.", json!({}), move |_, context| {
        let (seen, start) =
            (Arc::clone(&seen), handle.start(Request::new("task").parent(&Parent::from(&context))));
        async move {
            let run = start.await.map_err(|error| chain(&error))?;
            seen.lock().unwrap().push(run.run().session().clone());
            Ok::<_, String>(run.collect().await.into_result().unwrap().text().into_owned())
        }
    });
    let model = ScriptedModel::new()
        .reply(says("one"))
        .reply(ScriptedReply::new().text("I delegate.").tool_call("1", "delegate", json!({})))
        .reply(says("the fork's"))
        .reply(says("two"));
    let mut top =
        Agent::builder(Arc::new(model.clone())).tools(ToolSet::new().with(delegate).unwrap()).build();
    told(&mut top, &["first", "second"]).await;
    let session = sessions.lock().unwrap()[0].clone();
    assert_eq!(said(&session), ["first", "one", "task", "the fork's"]);
    assert_eq!(session.snapshot().completed_prefix().turns(), 2);
    assert!(conversation(&model.requests()[3])[4].contains("the fork's"));
    assert!(subagents.runs().is_empty());
    // The log is valid: it can be written and read again.
    let mut log = Vec::new();
    session.write_json_lines(&mut log).unwrap();
    subagent::agent::Session::read_json_lines(log.as_slice()).unwrap();
}

#[tokio::test]
async fn a_fork_of_a_parent_without_a_completed_turn_is_empty_and_completes() {
    let top = Agent::builder(Arc::new(ScriptedModel::new().reply(says("done")))).build();
    let (_subagents, fork) = registered();
    let run = fork.start(Request::new("task").parent(&parent_of(&top))).await.unwrap();
    let settled = run.settle().await;
    assert_eq!(settled.run().session().header().seed_length, 0);
    assert_eq!(said(settled.run().session()), ["task", "done"]);
    assert_eq!(settled.result().unwrap().text(), "done");
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn a_fork_that_says_nothing_never_returns_its_parents_words() {
    let model = ScriptedModel::new().reply(says("the parent's")).reply(ScriptedReply::new());
    let mut top = Agent::builder(Arc::new(model)).build();
    told(&mut top, &["first"]).await;
    let (subagents, fork) = registered();
    let (events, _subscription) = recorded(&subagents);
    let run = fork.start(Request::new("task").parent(&parent_of(&top))).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), result.output().len()), (&StopReason::Completed, 0));
    let subagent::Event::Ended(ended) = events.lock().unwrap()[1].clone() else { panic!("no end") };
    assert_eq!(ended.output, None);
}

#[tokio::test]
async fn a_fork_of_a_fork_and_two_forks_of_one_parent() {
    let model = ScriptedModel::new().reply(says("the parent's")).then_always_with(|request| {
        let asked = conversation(request).pop().unwrap();
        says(&format!("answer to {}", asked.trim_start_matches("user: ")))
    });
    let mut top = Agent::builder(Arc::new(model.clone())).build();
    told(&mut top, &["first"]).await;
    let (_subagents, fork) = registered();
    let request = |task: &str, parent: &Parent| Request::new(task).parent(parent).max_depth(5);
    let (a, b) =
        tokio::join!(fork.start(request("a", &parent_of(&top))), fork.start(request("b", &parent_of(&top))));
    let (a, b) = tokio::join!(a.unwrap().settle(), b.unwrap().settle());
    assert_eq!(said(a.run().session()), ["first", "the parent's", "a", "answer to a"]);
    assert_eq!(said(b.run().session()), ["first", "the parent's", "b", "answer to b"]);
    assert_ne!(a.run().session().header().id, b.run().session().header().id);

    let above = a.run().session();
    let parent_a = Parent::new(a.run().agent_id().clone(), above.header().id.clone())
        .with_depth(above.header().depth)
        .with_log(above.clone());
    let (_subagents, spawn) = {
        let subagents = Subagents::new();
        let fork = Fork::builder().default_model(model).build();
        let handle = subagents.register("fork", fork).unwrap().leave_registered();
        (subagents, handle)
    };
    let deeper = spawn.start(request("deeper", &parent_a)).await.unwrap().settle().await;
    assert_eq!(
        said(deeper.run().session()),
        ["first", "the parent's", "a", "answer to a", "deeper", "answer to deeper"]
    );
    let header = deeper.run().session().header();
    assert_eq!((header.depth, header.seed_length), (2, above.len()));
    assert_eq!(deeper.result().unwrap().text(), "answer to deeper");
    for run in [a, b, deeper] {
        run.dispose().await.unwrap();
    }
}

#[tokio::test]
async fn calls_that_a_crash_left_open_are_closed_in_the_fork() {
    let mut log = SessionWriter::new(SessionHeader::new(SessionId::from("crashed")));
    let call = SessionEventKind::ToolCall(ToolCall::new("c1", "read", json!({})));
    for event in [
        SessionEventKind::TurnStart,
        SessionEventKind::User(UserMessage::new(MessageOrigin::Prompt, vec!["first".into()])),
        SessionEventKind::StepStart,
        call,
        SessionEventKind::StepEnd { usage: Vec::new() },
        SessionEventKind::TurnEnd { reason: StopReason::Aborted },
    ] {
        log.append(event).unwrap();
    }
    let model = ScriptedModel::new().reply(says("done"));
    let top = Agent::builder(Arc::new(model.clone())).session(log).build();
    let (_subagents, fork) = registered();
    let run = fork.start(Request::new("task").parent(&parent_of(&top))).await.unwrap();
    run.collect().await.into_result().unwrap();
    let seen = conversation(&model.requests()[0]);
    assert!(seen[2].contains("was interrupted"), "{seen:?}");
    assert_eq!(seen.len(), 5);
}

struct Broken;

impl subagent::ParentLog for Broken {
    fn completed_turns(&self) -> Result<subagent::agent::SessionPrefix, subagent::BoxError> {
        Err("the disk is gone".into())
    }
}

/// Questions and answers, as a host keeps them that has a log of its own.
struct Chat(Vec<[&'static str; 2]>);

impl subagent::ParentLog for Chat {
    fn completed_turns(&self) -> Result<subagent::agent::SessionPrefix, subagent::BoxError> {
        let mut log = SessionWriter::new(SessionHeader::new(SessionId::new()));
        for [asked, answered] in &self.0 {
            for event in [
                SessionEventKind::TurnStart,
                SessionEventKind::User(UserMessage::new(MessageOrigin::Prompt, vec![(*asked).into()])),
                SessionEventKind::StepStart,
                SessionEventKind::Assistant(AssistantMessage::new(*answered)),
                SessionEventKind::StepEnd { usage: Vec::new() },
                SessionEventKind::TurnEnd { reason: StopReason::Completed },
            ] {
                log.append(event)?;
            }
        }
        Ok(log.session().completed_prefix())
    }
}

#[tokio::test]
async fn a_parent_without_a_log_is_refused_and_a_log_of_ones_own_is_not() {
    let (_subagents, fork) = registered();
    let error = fork.start(Request::new("task").parent(&parent())).await.unwrap_err();
    assert!(chain(&error).contains("no log to fork from"), "{}", chain(&error));
    let StartError::Failed { source, .. } = error else { panic!("{error:?}") };
    assert_eq!(source.downcast_ref(), Some(&ChildSetupError::NoLog));
    assert!(fork.provider().sessions().is_empty());

    let error = fork.start(Request::new("task").parent(&parent().with_log(Broken))).await.unwrap_err();
    assert!(chain(&error).contains("the disk is gone"), "{}", chain(&error));

    let subagents = Subagents::new();
    let model = ScriptedModel::new().reply(says("done"));
    let fork = subagents.register("fork", Fork::builder().default_model(model).build()).unwrap();
    let chat = Chat(vec![["who?", "Ada"], ["where?", "here"]]);
    let run = fork.start(Request::new("task").parent(&parent().with_log(chat))).await.unwrap();
    let settled = run.settle().await;
    assert_eq!(said(settled.run().session()), ["who?", "Ada", "where?", "here", "task", "done"]);
    assert_eq!(settled.run().session().header().seed_length, 12);
    settled.dispose().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_fork_resumes_in_its_own_session() {
    let model = ScriptedModel::new().reply(says("the parent's")).reply(says("one")).reply(says("two"));
    let mut top = Agent::builder(Arc::new(model.clone())).build();
    told(&mut top, &["first"]).await;
    let (_subagents, fork) = registered();
    let settled = fork.start(Request::new("task").parent(&parent_of(&top))).await.unwrap().settle().await;
    let settled =
        tokio::time::timeout(Duration::from_secs(5), settled.resume("more")).await.unwrap().unwrap();
    let settled = settled.settle().await;
    assert_eq!(settled.result().unwrap().text(), "two");
    assert_eq!(said(settled.run().session()), ["first", "the parent's", "task", "one", "more", "two"]);
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn spawn_and_fork_live_side_by_side_under_one_parent() {
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::builder().build()).unwrap();
    let fork = subagents.register("fork", Fork::new()).unwrap();
    let model = ScriptedModel::new()
        .reply(says("own one"))
        .reply(says("spawned"))
        .reply(says("forked"))
        .reply(says("own two"));
    let mut top = Agent::builder(Arc::new(model)).build();
    told(&mut top, &["first"]).await;
    let parent = parent_of(&top);
    let spawned = spawn.start(Request::new("a").parent(&parent)).await.unwrap().settle().await;
    let forked = fork.start(Request::new("b").parent(&parent)).await.unwrap().settle().await;
    told(&mut top, &["second"]).await;
    assert_eq!(spawned.result().unwrap().text(), "spawned");
    assert_eq!(forked.result().unwrap().text(), "forked");
    let (one, other) = (spawned.run().session().header(), forked.run().session().header());
    assert_ne!(one.id, other.id);
    assert!(one.parent == other.parent && one.parent.as_ref() == Some(parent.session_id()));
    assert!(one.seed_length == 0 && other.seed_length > 0);
    assert_eq!(said(top.session()), ["first", "own one", "second", "own two"]);
    spawned.dispose().await.unwrap();
    forked.dispose().await.unwrap();
    drop(fork);
    assert_eq!(subagents.start("fork", Request::new("go")).await.unwrap_err().code(), "NO_PROVIDER");
}
