//! A child begins with nothing but its prompt and what it inherits by name.

use std::sync::Arc;
use std::time::Duration;

use subagent::agent::{Agent, SessionEventKind, TurnOptions, UsageLedger};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{ContentBlock, Event, Parent, Request, Spawn, StartError, StopReason, Subagents};
use tokio_util::sync::CancellationToken;

use super::support::{conversation, parent, recorded, registered, says, text};

#[tokio::test]
async fn a_child_answers_and_completes() {
    let (subagents, spawn) =
        registered(Spawn::new(ScriptedModel::new().reply(says("the answer").usage(7, 3))));
    let (events, _subscription) = recorded(&subagents);
    let result = spawn
        .start(Request::new("go").parent(&parent()))
        .await
        .unwrap()
        .collect()
        .await
        .into_result()
        .unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Completed, "the answer"));
    assert_eq!(result.usage().own[0].output_tokens, Some(3));
    let events = events.lock().unwrap();
    let [Event::Started(started), Event::Ended(ended)] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!((started.run.depth, started.run.run_id), (1, ended.run.run_id));
    assert_eq!(text(ended.output.as_ref().unwrap()), "the answer");
}

#[tokio::test]
async fn a_child_has_a_session_of_its_own_that_names_its_parents() {
    let (_subagents, spawn) = registered(Spawn::new(ScriptedModel::new().reply(says("done"))));
    let run = spawn.start(Request::new("go").parent(&parent())).await.unwrap();
    let header = run.run().session().header().clone();
    assert_ne!(&header.id, parent().session_id());
    assert_eq!(header.parent.as_ref(), Some(parent().session_id()));
    assert_eq!((header.depth, header.seed_length, header.model.as_deref()), (1, 0, Some("scripted")));
    run.collect().await.into_result().unwrap();
}

#[tokio::test]
async fn a_child_knows_nothing_of_its_parents_conversation() {
    let parent_model = ScriptedModel::new().reply(says("what the parent said"));
    let mut top = Agent::builder(Arc::new(parent_model)).system_prompt("The parent's prompt.").build();
    top.run_turn(vec![ContentBlock::text("what the parent was asked")], TurnOptions::new()).await;
    let caller = top.as_caller(CancellationToken::new(), UsageLedger::new());

    let child_model = ScriptedModel::new().named("child").reply(says("done"));
    let (_subagents, spawn) = registered(Spawn::builder().model(child_model.clone()).build());
    let request = Request::new("the child's task").parent(&Parent::from(&caller)).model("child");
    let settled = spawn.start(request).await.unwrap().settle().await;
    let snapshot = settled.run().session().snapshot();
    let mut events = snapshot.events();
    assert!(matches!(events.next().unwrap().kind, SessionEventKind::TurnStart));
    let SessionEventKind::User(first) = &events.next().unwrap().kind else { panic!("no prompt") };
    assert_eq!(text(&first.content), "the child's task");
    assert_eq!(conversation(&child_model.requests()[0]), ["user: the child's task"]);
    assert_eq!(child_model.requests()[0].system_prompt, None);
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn a_child_is_listed_until_it_is_disposed_of() {
    let (_subagents, spawn) = registered(Spawn::new(ScriptedModel::new().reply(says("done"))));
    let settled = spawn.start(Request::new("go")).await.unwrap().settle().await;
    let listed = spawn.provider().sessions();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].header().id, settled.run().session().header().id);
    settled.dispose().await.unwrap();
    assert!(spawn.provider().sessions().is_empty());
}

#[tokio::test]
async fn a_child_works_where_its_parent_does() {
    let (_subagents, spawn) = registered(Spawn::new(ScriptedModel::new().then_always(says("done"))));
    let placed = parent().with_working_dir("/srv/project");
    let run = spawn.start(Request::new("go").parent(&placed)).await.unwrap();
    assert_eq!(run.run().session().header().working_dir.as_deref(), Some("/srv/project".as_ref()));
    run.dispose().await.unwrap();
    let run = spawn.start(Request::new("go").parent(&parent())).await.unwrap();
    assert_eq!(run.run().session().header().working_dir, None);
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn a_persona_is_in_the_childs_requests_alone() {
    let model = ScriptedModel::new().then_always(says("done"));
    let (subagents, _spawn) =
        registered(Spawn::builder().default_model(model.clone()).system_prompt("You help.").build());
    for request in [Request::new("go").erase().persona("You whisper."), Request::new("go").erase()] {
        let run = subagents.start("spawn", request).await.unwrap();
        run.collect().await.into_result().unwrap();
    }
    let seen: Vec<_> = model.requests().iter().map(|request| request.system_prompt.clone()).collect();
    assert_eq!(seen, [Some("You whisper.".into()), Some("You help.".into())]);
}

#[tokio::test]
async fn the_name_is_free_again_when_the_registration_ends() {
    let subagents = Subagents::new();
    drop(subagents.register("spawn", Spawn::new(ScriptedModel::new())).unwrap());
    let error = subagents.start("spawn", Request::new("go")).await.unwrap_err();
    assert_eq!(error.code(), "NO_PROVIDER");
    subagents.register("spawn", Spawn::new(ScriptedModel::new())).unwrap().unregister();
}

#[tokio::test]
async fn a_token_limit_and_a_failing_model_are_results() {
    let failing = ScriptedReply::new().error(subagent::agent::ModelError::other("broken"));
    let cut = says("half").finish(subagent::agent::FinishReason::MaxTokens);
    let (_subagents, spawn) = registered(Spawn::new(ScriptedModel::new().reply(cut).reply(failing)));
    let result = spawn.start(Request::new("go")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::MaxTokens, "half"));
    let result = spawn.start(Request::new("go")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), result.output().len()), (&StopReason::Error, 0));
    assert!(result.diagnostic().unwrap().contains("broken"));
}

#[tokio::test]
async fn a_panic_of_the_model_is_a_result_and_the_text_before_it_is_kept() {
    let (subagents, spawn) = registered(Spawn::new(ScriptedModel::new().reply(says("so far").panic())));
    let result = spawn.start(Request::new("go")).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!((result.stop_reason(), &*result.text()), (&StopReason::Error, "so far"));
    assert!(result.diagnostic().unwrap().contains("panicked"));
    assert!(subagents.runs().is_empty());
}

#[tokio::test]
async fn content_that_the_model_cannot_read_is_refused_by_name() {
    let (_subagents, spawn) = registered(Spawn::new(ScriptedModel::new()));
    let prompt = vec![ContentBlock::text("look"), ContentBlock::image("aGk=", "image/png")];
    let error = spawn.start(Request::new(prompt)).await.unwrap_err();
    let StartError::UnsupportedContent { ref provider, index: 1, run_id: Some(_), .. } = error else {
        panic!("{error:?}")
    };
    assert_eq!(&**provider, "spawn");
    assert!(error.to_string().contains("cannot carry image content"), "{error}");
    assert!(spawn.provider().sessions().is_empty());
}

#[tokio::test]
async fn a_childs_result_waits_for_no_collector() {
    let (subagents, spawn) = registered(Spawn::new(ScriptedModel::new().then_always(says("done"))));
    let mut settled = Vec::new();
    for _ in 0..20 {
        settled.push(spawn.start(Request::new("go")).await.unwrap().settle().await);
    }
    // Settled runs are off the list of live ones although nobody collected them.
    assert!(subagents.runs().is_empty());
    for run in settled {
        tokio::time::timeout(Duration::from_secs(5), run.dispose()).await.unwrap().unwrap();
    }
}
