//! What a model may write: anything. What is wrong is an error that says what would be right.

use serde_json::{Value, json};
use subagent::testing::Script;

use crate::support::{Loop, context, said, scripted, toolset};
use subagent::delegation::SubagentTool;

const ID: &str = "0198c5d2-7a4e-7c1f-9b3a-2f6d1e8c4b5a";

async fn refused(parent: &Loop, tool: &str, arguments: Value, says: &str) {
    let shown = arguments.to_string();
    let output = parent.call(tool, arguments).await;
    let text = said(&output);
    assert!(output.is_error, "{tool} took {}", &shown[..shown.len().min(200)]);
    assert!(text.contains(says), "`{says}` is not in: {text}");
    assert!(text.len() < 1000 && !text.chars().any(|char| char.is_control() && char != '\n'), "{text:?}");
}

#[tokio::test]
async fn malformed_arguments_are_told_what_would_be_right() {
    let (_subagents, provider, log) = scripted([Script::new().complete("done")]);
    let parent = Loop::new(toolset(&provider));
    for (arguments, says) in [
        (json!(null), "have to be a JSON object with: `description`, `prompt`"),
        (json!("Count the files"), "have to be a JSON object"),
        (json!(["a", "b"]), "have to be a JSON object"),
        (json!({}), "`description` is missing"),
        (json!({"description": "a"}), "`prompt` is missing"),
        (json!({"description": "a", "prompt": null}), "`prompt` is missing"),
        (json!({"description": "a", "prompt": 7}), "`prompt` has to be text, not a number"),
        (json!({"description": "a", "prompt": ["b"]}), "not a list"),
        (json!({"description": {}, "prompt": "b"}), "not an object"),
        (json!({"description": "a", "prompt": " \n\t"}), "`prompt` is empty"),
        (json!({"description": "a".repeat(201), "prompt": "b"}), "the most is 200"),
        (json!({"description": "a", "prompt": "b", "provider": "acp"}), "no argument `provider`"),
        (json!({"description": "a", "prompt": "b", "run_in_background": "yes"}), "true or false, not text"),
        (json!({"description": "a", "prompt": "b\u{0}c"}), "control character U+0000"),
        (json!({"description": "a\u{1b}[2J", "prompt": "b"}), "control character U+001B"),
        (json!({"description": "a", "prompt": "b", "\u{7}x\u{1b}]0;": 1}), "no argument"),
        (json!({"description": "a", "prompt": "b", "x".repeat(5000): 1}), "no argument `xxx"),
    ] {
        refused(&parent, "subagent", arguments, says).await;
    }
    for (tool, arguments, says) in [
        ("wait_agent", json!({"agent_ids": ID}), "list of agent ids, not text"),
        ("wait_agent", json!({"agent_ids": []}), "at least one agent"),
        ("wait_agent", json!({"agent_ids": [7]}), "agent ids as text, not a number"),
        ("wait_agent", json!({"agent_ids": [ID]}), "You have no agent"),
        ("wait_agent", json!({"timeout_seconds": -1}), "whole number of 0 or more"),
        ("wait_agent", json!({"timeout_seconds": 1.5}), "whole number"),
        ("wait_agent", json!({"timeout_seconds": "1"}), "not text"),
        ("list_agents", json!({"all": true}), "The arguments are: none"),
        ("interrupt_agent", json!({}), "`agent_id` is missing"),
        ("interrupt_agent", json!({"agent_id": "job-7"}), "is not an agent id"),
        ("interrupt_agent", json!({"agent_id": "\u{1b}[31m".repeat(5000)}), "is not an agent id"),
        ("send_message", json!({"agent_id": ID}), "`message` is missing"),
        ("send_message", json!({"agent_id": ID, "message": "a\u{8}"}), "control character"),
        ("followup_agent", json!({"agent_id": ID, "prompt": ""}), "`prompt` is empty"),
        ("read_result", json!({"agent_id": ID, "offset": "end"}), "whole number"),
        ("read_result", json!({"agent_id": ID}), "Your agents are: none"),
    ] {
        refused(&parent, tool, arguments, says).await;
    }
    assert!(log.requests().is_empty() && parent.delegations.list().is_empty());
}

#[tokio::test]
async fn a_prompt_of_ten_megabytes_is_refused_in_a_few_words() {
    let (_subagents, provider, log) = scripted([Script::new().complete("done")]);
    let parent = Loop::new(toolset(&provider));
    let huge = "x".repeat(10 * 1024 * 1024);
    refused(
        &parent,
        "subagent",
        json!({"description": "a", "prompt": &huge}),
        "10485760 bytes, and the most is 1048576",
    )
    .await;
    refused(
        &parent,
        "send_message",
        json!({"agent_id": ID, "message": &huge}),
        "put what is long into a file",
    )
    .await;
    refused(&parent, "interrupt_agent", json!({"agent_id": &huge}), "is not an agent id").await;
    assert!(log.requests().is_empty());
}

#[tokio::test]
async fn background_work_that_is_not_offered_is_refused_also_if_it_is_asked_for() {
    let (_subagents, provider, log) = scripted([Script::new().complete("done")]);
    let tool = SubagentTool::builder(&provider).build();
    let output = tool.call(crate::support::background_task("a"), context()).await;
    assert!(output.is_error && said(&output).contains("no argument `run_in_background`"), "{output:?}");
    assert!(log.requests().is_empty());
}

#[tokio::test]
async fn an_agents_id_given_to_the_wrong_tool_is_told_the_right_one() {
    let (_subagents, provider, _) = scripted([Script::new().wait(std::time::Duration::from_mins(10))]);
    let parent = Loop::new(toolset(&provider));
    let id = parent.start("a").await.to_string();
    refused(&parent, "read_result", json!({"agent_id": id}), "`wait_agent` waits for its result").await;
    refused(&parent, "followup_agent", json!({"agent_id": id, "prompt": "more"}), "send it a message").await;
    parent.delegations.close().await;
}
