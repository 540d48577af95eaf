//! An agent of rig, with rig's mock model, delegates to children of this crate.

use rig_agent::agent::AgentBuilder;
use rig_agent::test_utils::MockCompletionModel;
use rig_core::test_utils::MockTurn;
use serde_json::json;
use subagent::agent::UsageLedger;
use subagent::delegation::{RigTools, SubagentTool};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{ModelUsage, Parent, Spawn, Subagents};

#[tokio::test]
async fn a_rig_agent_delegates_and_its_childs_usage_is_not_lost() {
    let subagents = Subagents::new();
    let child = ScriptedModel::new()
        .named("small")
        .reply(ScriptedReply::new().text("42 files").usage(100, 10))
        .reply(ScriptedReply::new().text("7 folders").usage(50, 5));
    let spawn = subagents.register("spawn", Spawn::new(child)).unwrap();
    let tools = SubagentTool::builder(&spawn).in_background().send_message().followup_agent().build();
    let ledger = UsageLedger::new();
    let rig = RigTools::new(tools, &Parent::new("rig", "session").with_usage(ledger.clone()));

    let background =
        json!({"description": "count", "prompt": "Count the folders", "run_in_background": true});
    let model = MockCompletionModel::from_turns([
        MockTurn::tool_call("1", "subagent", json!({"description": "count", "prompt": "Count the files"})),
        MockTurn::tool_call("2", "subagent", background),
        MockTurn::tool_call("3", "wait_agent", json!({})),
        MockTurn::tool_call("4", "subagent", json!({"prompt": 7})),
        MockTurn::text("All counted."),
    ]);
    let agent =
        AgentBuilder::new(model.clone()).dynamic_tools(rig.tools().unwrap()).default_max_turns(9).build();
    let answer = agent.prompt("How many files and folders?").await.unwrap();
    assert!(format!("{answer:?}").contains("All counted."));

    // What the model saw at its last call: each outcome once, and what was wrong with the malformed call.
    let seen = format!("{:?}", model.requests().last().unwrap());
    for once in ["\\n42 files\\n", "\\n7 folders\\n", "`description` is missing"] {
        assert_eq!(seen.matches(once).count(), 1, "{once}: {seen}");
    }
    assert_eq!(rig.usage().descendants, [ModelUsage::new("small", 150, 15)]);
    assert_eq!(ledger.usage(), rig.usage());
    rig.close().await;
    assert!(subagents.runs().is_empty());
}
