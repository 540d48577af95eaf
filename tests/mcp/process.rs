//! The example server, over stdio.

use std::process::Stdio;

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use serde_json::json;
use tokio::process::Command;

use crate::calls::said;
use crate::example::example;

#[tokio::test]
async fn a_client_delegates_over_stdio() {
    let mut server = Command::new(example("mcp_server", "rmcp"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let client = ().serve((server.stdout.take().unwrap(), server.stdin.take().unwrap())).await.unwrap();
    let mut names: Vec<_> =
        client.list_all_tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    names.sort();
    assert_eq!(
        names,
        ["count_words", "interrupt_agent", "list_agents", "read_result", "send_message", "wait_agent"]
    );
    let arguments = json!({"description": "count", "prompt": "one two three"});
    let call =
        CallToolRequestParams::new("count_words").with_arguments(arguments.as_object().unwrap().clone());
    let result = client.call_tool(call).await.unwrap();
    assert_eq!(result.is_error, Some(false));
    assert!(said(&result).contains("\n3 words\n"), "{result:?}");
    client.cancel().await.unwrap();
    let ended = tokio::time::timeout(std::time::Duration::from_mins(1), server.wait()).await;
    assert!(ended.expect("the server ends with its client").unwrap().success());
}
