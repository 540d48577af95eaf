//! The example server, over stdio.

use std::path::PathBuf;
use std::process::Stdio;

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use serde_json::json;
use tokio::process::Command;

use crate::calls::said;

/// The example's program. `cargo test` builds it with the tests; where one test alone was asked for, it is built here.
pub(crate) fn example() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let path = tests.ancestors().nth(2).unwrap().join("examples/mcp_server");
    if !path.exists() {
        let built = std::process::Command::new(env!("CARGO"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args([
                "build",
                "--quiet",
                "--package",
                "subagent",
                "--features",
                "rmcp",
                "--example",
                "mcp_server",
            ])
            .status()
            .unwrap();
        assert!(built.success(), "the example does not build");
    }
    path
}

#[tokio::test]
async fn a_client_delegates_over_stdio() {
    let mut server = Command::new(example())
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
