//! Depth: counted from the parent, checked before anything is made, kept in the log.

use std::sync::Arc;

use serde_json::json;
use subagent::agent::{Agent, SessionHeader, SessionWriter, ToolSet, UsageLedger};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{Parent, Request, SessionId, Spawn, StartError};
use tokio_util::sync::CancellationToken;

use super::support::{chain, conversation, delegate, parent, recorded, registered, says};

fn spawn() -> Spawn {
    Spawn::new(ScriptedModel::new().then_always(says("done")))
}

#[test]
fn an_agent_without_a_stored_depth_is_at_depth_0() {
    let header: SessionHeader = serde_json::from_value(json!({ "id": "session" })).unwrap();
    assert_eq!(header.depth, 0);
    let header: SessionHeader = serde_json::from_value(json!({ "id": "session", "depth": 4 })).unwrap();
    assert_eq!(header.depth, 4);
    for wrong in [json!(-1), json!(1.5), json!(4_294_967_296_u64), json!("1")] {
        let header = json!({ "id": "session", "depth": wrong });
        assert!(serde_json::from_value::<SessionHeader>(header.clone()).is_err(), "{header}");
    }
}

#[tokio::test]
async fn a_childs_depth_is_its_parents_and_one() {
    let (_subagents, spawn) = registered(spawn());
    for (parent, depth) in [(parent(), 1), (parent().with_depth(2), 3)] {
        let run = spawn.start(Request::new("go").parent(&parent)).await.unwrap();
        assert_eq!(run.run().session().header().depth, depth);
        run.dispose().await.unwrap();
    }
}

#[tokio::test]
async fn a_child_that_would_be_too_deep_is_refused_before_anything_is_made() {
    let (subagents, spawn) = registered(spawn());
    let (events, _subscription) = recorded(&subagents);
    let error = spawn.start(Request::new("go").parent(&parent()).max_depth(0)).await.unwrap_err();
    assert!(matches!(error, StartError::DepthExceeded { depth: 1, max_depth: 0 }), "{error:?}");
    let error =
        subagents.start("spawn", Request::new("go").parent(&parent()).max_depth(0)).await.unwrap_err();
    assert!(matches!(error, StartError::DepthExceeded { depth: 1, max_depth: 0 }), "{error:?}");
    let deep = parent().with_depth(u32::MAX);
    let error = spawn.start(Request::new("go").parent(&deep).max_depth(u32::MAX)).await.unwrap_err();
    assert!(matches!(error, StartError::DepthOverflow { .. }), "{error:?}");
    assert!(events.lock().unwrap().is_empty() && spawn.provider().sessions().is_empty());
}

#[tokio::test]
async fn without_a_cap_the_tree_is_three_levels_deep() {
    let (_subagents, spawn) = registered(spawn());
    let run = spawn.start(Request::new("go").parent(&parent().with_depth(2))).await.unwrap();
    assert_eq!(run.run().session().header().max_depth, Some(3));
    run.dispose().await.unwrap();
    let error = spawn.start(Request::new("go").parent(&parent().with_depth(3))).await.unwrap_err();
    assert!(matches!(error, StartError::DepthExceeded { depth: 4, max_depth: 3 }), "{error:?}");
    // Who asks for more gets it.
    let run = spawn.start(Request::new("go").parent(&parent().with_depth(3)).max_depth(9)).await.unwrap();
    run.dispose().await.unwrap();
}

#[tokio::test]
async fn a_child_that_delegates_the_same_task_for_ever_is_stopped_by_the_cap() {
    let always = ScriptedModel::new().then_always_with(|request| {
        match request.messages().last() {
            // The deepest tells why it could not delegate; the others pass it on.
            Some(subagent::agent::Message::ToolResults { results, .. }) => {
                says(&super::support::text(&results[0].content))
            }
            _ => ScriptedReply::new().tool_call("1", "delegate", json!({})),
        }
    });
    let (subagents, spawn) = registered(Spawn::new(always));
    let (events, _subscription) = recorded(&subagents);
    let offered = ToolSet::new().with(delegate("delegate", &spawn)).unwrap();
    let run =
        spawn.start(Request::new("go").parent(&parent().with_tools(offered)).max_depth(2)).await.unwrap();
    let result = run.collect().await.into_result().unwrap();
    assert_eq!(
        result.text(),
        "the child would be at depth 3, and the limit is 2; do the work in the parent instead"
    );
    assert_eq!(events.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn depth_and_cap_survive_in_the_log() {
    let (_subagents, spawn) = registered(spawn());
    let run = spawn.start(Request::new("go").parent(&parent().with_depth(1)).max_depth(2)).await.unwrap();
    let settled = run.settle().await;
    let mut log = Vec::new();
    settled.run().session().write_json_lines(&mut log).unwrap();
    settled.dispose().await.unwrap();

    let loaded = SessionWriter::read_json_lines(log.as_slice()).unwrap();
    let again = Agent::builder(Arc::new(ScriptedModel::new())).session(loaded).build();
    let caller = again.as_caller(CancellationToken::new(), UsageLedger::new());
    assert_eq!((caller.depth(), caller.max_depth()), (2, Some(2)));
    // Its depth may only grow, and no request widens the cap.
    assert_eq!(Parent::from(&caller).with_depth(5).depth(), 5);
    for parent in [Parent::from(&caller), Parent::from(&caller).with_depth(0)] {
        let error = spawn.start(Request::new("go").parent(&parent).max_depth(9)).await.unwrap_err();
        assert!(matches!(error, StartError::DepthExceeded { depth: 3, max_depth: 2 }), "{error:?}");
    }
}

#[tokio::test]
async fn a_depth_that_is_no_whole_number_is_refused_by_name() {
    let (subagents, _spawn) = registered(spawn());
    for wrong in ["-1", "1.5", "-0.5", "9007199254740993", "\"2\"", "null"] {
        let json = format!(r#"{{"prompt": "go", "capabilities": {{"depth-limit": {wrong}}}}}"#);
        let request: Request<subagent::Unchecked> = serde_json::from_str(&json).unwrap();
        let error = subagents.start("spawn", request).await.unwrap_err();
        let StartError::InvalidValue { ref capability, .. } = error else { panic!("{}", chain(&error)) };
        assert_eq!(capability, "depth-limit");
    }
    let nan = r#"{"prompt": "go", "capabilities": {"depth-limit": NaN}}"#;
    assert!(serde_json::from_str::<Request<subagent::Unchecked>>(nan).is_err());
}

#[tokio::test]
async fn a_top_level_session_that_names_no_cap_binds_nobody() {
    let top = Agent::builder(Arc::new(ScriptedModel::new().then_always(says("done"))))
        .session(SessionWriter::new(SessionHeader::new(SessionId::from("top"))))
        .build();
    let caller = top.as_caller(CancellationToken::new(), UsageLedger::new());
    let (_subagents, spawn) = registered(Spawn::builder().build());
    let settled = spawn
        .start(Request::new("go").parent(&Parent::from(&caller)).max_depth(7))
        .await
        .unwrap()
        .settle()
        .await;
    let header = settled.run().session().header();
    assert_eq!((header.parent.clone(), header.max_depth), (Some("top".into()), Some(7)));
    settled.dispose().await.unwrap();
}

#[tokio::test]
async fn usage_of_all_descendants_reaches_the_top() {
    let model = ScriptedModel::new()
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})).usage(1, 10))
        .reply(ScriptedReply::new().tool_call("1", "delegate", json!({})).usage(2, 20))
        .reply(ScriptedReply::new().usage(4, 40).error(subagent::agent::ModelError::other("broken")))
        .reply(says("grandchild failed").usage(8, 80))
        .reply(says("done").usage(16, 160));
    let (_subagents, spawn) = registered(Spawn::new(model.clone()));
    let offered = ToolSet::new().with(delegate("delegate", &spawn)).unwrap();
    let ledger = UsageLedger::new();
    let top = parent().with_tools(offered).with_usage(ledger.clone());
    let result =
        spawn.start(Request::new("go").parent(&top)).await.unwrap().collect().await.into_result().unwrap();
    assert_eq!(conversation(&model.requests()[3])[2], "results: the child ended with error");
    let output = |usage: &[subagent::ModelUsage]| usage[0].output_tokens;
    assert_eq!(output(&result.usage().own), Some(170));
    assert_eq!(output(&result.usage().descendants), Some(140));
    assert_eq!(output(&ledger.usage().descendants), Some(310));
    assert!(ledger.usage().own.is_empty());
}
