//! The server in this process, and `rmcp`'s own client.

use std::time::Duration;

use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RoleClient, RunningService};
use rmcp::{ServiceError, ServiceExt};
use serde_json::{Value, json};
use subagent::delegation::{McpServer, SubagentTool};
use subagent::testing::{Script, ScriptedLog, ScriptedProvider};
use subagent::{ContentBlock, Outcome, Parent, Subagents};

pub(crate) fn said(result: &CallToolResult) -> String {
    result.content.iter().filter_map(|block| Some(block.as_text()?.text.as_str())).collect()
}

/// A client, and the server that it talks to.
struct Talk {
    client: RunningService<RoleClient, ()>,
    server: McpServer,
    subagents: Subagents,
    log: ScriptedLog,
}

impl Talk {
    async fn with(scripts: impl IntoIterator<Item = Script>) -> Self {
        let provider = ScriptedProvider::playing(scripts);
        let log = provider.log();
        let subagents = Subagents::new();
        subagents.register("scripted", provider).unwrap().leave_registered();
        let tools = SubagentTool::by_name(&subagents, "scripted").in_background();
        let tools = tools.try_send_message().unwrap().try_followup_agent().unwrap().build();
        let server = McpServer::new(tools, &Parent::new("client", "session").with_depth(1));
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let handler = server.clone();
        let (running, client) = tokio::join!(handler.serve(ours), ().serve(theirs));
        let running = running.unwrap();
        tokio::spawn(async move { running.waiting().await });
        Self { client: client.unwrap(), server, subagents, log }
    }

    async fn call(&self, tool: &'static str, arguments: Value) -> Result<CallToolResult, ServiceError> {
        let call = CallToolRequestParams::new(tool).with_arguments(arguments.as_object().unwrap().clone());
        self.client.call_tool(call).await
    }

    async fn names(&self) -> Vec<String> {
        self.client.list_all_tools().await.unwrap().into_iter().map(|tool| tool.name.into_owned()).collect()
    }
}

#[tokio::test]
async fn the_server_acts_for_the_parent_that_it_was_built_with() {
    let talk =
        Talk::with([Script::new().complete("42"), Script::new().settle(Outcome::error("no disk"))]).await;
    let arguments = json!({"description": "count", "prompt": "Count the files"});
    let result = talk.call("subagent", arguments.clone()).await.unwrap();
    assert!(result.is_error == Some(false) && said(&result).contains("\n42\n"), "{result:?}");
    let request = talk.log.requests().remove(0);
    assert_eq!((request.parent.unwrap().agent_id().as_str(), request.depth), ("client", 2));
    let failed = talk.call("subagent", arguments).await.unwrap();
    assert!(failed.is_error == Some(true) && said(&failed).contains("it failed. Diagnostic: no disk"));
}

#[tokio::test]
async fn tools_come_and_go_with_their_provider() {
    let talk = Talk::with([]).await;
    let all = talk.names().await;
    assert_eq!((all.len(), all.contains(&"subagent".to_owned())), (7, true));
    talk.subagents.unregister("scripted");
    assert!(!talk.names().await.contains(&"subagent".to_owned()));
    let result = talk.call("subagent", json!({"description": "a", "prompt": "b"})).await.unwrap();
    assert!(result.is_error == Some(true) && said(&result).contains("`scripted`"), "{result:?}");
    let unknown = talk.call("sub_agent", json!({})).await.unwrap_err();
    assert!(
        unknown.to_string().contains("there is no tool `sub_agent`; the tools are: wait_agent"),
        "{unknown}"
    );
}

#[tokio::test]
async fn an_outcome_is_told_once_with_the_next_result() {
    let talk = Talk::with([Script::new().complete("from below")]).await;
    let arguments = json!({"description": "a", "prompt": "b", "run_in_background": true});
    let started = talk.call("subagent", arguments).await.unwrap();
    talk.server.delegations().wait().await;
    // It may have ended before its start was answered.
    let mut told = said(&started).matches("\nfrom below\n").count();
    for _ in 0..3 {
        told += said(&talk.call("list_agents", json!({})).await.unwrap()).matches("\nfrom below\n").count();
    }
    assert_eq!(told, 1);
}

#[tokio::test]
async fn what_is_not_text_is_carried_and_what_cannot_be_is_told() {
    let output = vec![ContentBlock::text("see"), ContentBlock::image("aGk=", "image/png")];
    let talk = Talk::with([Script::new().complete(output)]).await;
    let result = talk.call("subagent", json!({"description": "a", "prompt": "b"})).await.unwrap();
    let image = result.content.iter().find_map(|block| block.as_image()).unwrap();
    assert_eq!((image.data.as_str(), image.mime_type.as_str()), ("aGk=", "image/png"));
}

#[tokio::test]
async fn closing_ends_what_the_client_left_behind() {
    let talk = Talk::with([Script::new().wait(Duration::from_mins(10))]).await;
    let arguments = json!({"description": "a", "prompt": "b", "run_in_background": true});
    talk.call("subagent", arguments).await.unwrap();
    while talk.log.live_children() == 0 {
        tokio::task::yield_now().await;
    }
    talk.client.cancel().await.unwrap();
    talk.server.close().await;
    assert_eq!(talk.log.live_children(), 0);
}
