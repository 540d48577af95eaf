use serde_json::Value;

/// Whether a permission request is for a call of this tool of this server and nothing else.
///
/// The protocol has no place for a tool's name, so agents show it in forms of their own. Only a whole title that is
/// the tool's qualified name counts, or the form in which codex asks, and never for a tool of a kind that does
/// something: a command or a text that merely speaks of the tool is not taken for it.
pub(super) fn is_for(server: &str, tool: &str, request: &Value) -> bool {
    let call = &request["toolCall"];
    let has_effects = !matches!(call["kind"].as_str(), None | Some("other"));
    if has_effects {
        return false;
    }
    let title = call["title"].as_str().unwrap_or_default();
    let named = [
        format!("mcp__{server}__{tool}"),
        format!("{server}__{tool}"),
        format!("{server}_{tool}"),
        format!("{server}/{tool}"),
        format!("{tool} ({server} MCP Server)"),
    ];
    named.iter().any(|name| name == title) || is_codex(server, tool, title, call)
}

/// Codex asks as if it were a form, with the call's id in the form's.
fn is_codex(server: &str, tool: &str, title: &str, call: &Value) -> bool {
    let form = &call["rawInput"];
    let message = format!("Allow the {server} MCP server to run tool \"{tool}\"?");
    let id = call["toolCallId"].as_str().map(|id| format!("mcp_tool_call_approval_{id}"));
    title == "Approve MCP tool call"
        && form["server_name"] == server
        && form["id"].as_str() == id.as_deref()
        && form["request"]["_meta"]["codex_approval_kind"] == "mcp_tool_call"
        && form["request"]["message"].as_str() == Some(message.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asks(call: &Value) -> bool {
        is_for("subagent", "deliver_result", &json!({ "toolCall": call }))
    }

    fn codex() -> Value {
        json!({
            "toolCallId": "call_1",
            "title": "Approve MCP tool call",
            "rawInput": {
                "server_name": "subagent",
                "id": "mcp_tool_call_approval_call_1",
                "request": {
                    "_meta": { "codex_approval_kind": "mcp_tool_call" },
                    "message": "Allow the subagent MCP server to run tool \"deliver_result\"?",
                },
            },
        })
    }

    #[test]
    fn the_tool_is_known_in_the_forms_of_agents() {
        assert!(asks(&json!({ "title": "mcp__subagent__deliver_result", "kind": "other" })));
        assert!(asks(&json!({ "title": "subagent_deliver_result" })));
        assert!(asks(&codex()));
    }

    #[test]
    fn what_only_speaks_of_the_tool_is_not_it() {
        for call in [
            json!({ "title": "mcp__subagent__deliver_result", "kind": "execute" }),
            json!({ "title": "mcp__subagent__deliver_result; rm -rf /", "kind": "other" }),
            json!({ "title": "`mcp__subagent__deliver_result`", "kind": "other" }),
            json!({ "title": "deliver_result", "kind": "other" }),
            json!({ "title": "mcp__another__deliver_result", "kind": "other" }),
            json!({ "title": "mcp__subagent__another", "kind": "other" }),
            json!({ "title": "run", "rawInput": { "command": "mcp__subagent__deliver_result" } }),
            json!({}),
            Value::Null,
        ] {
            assert!(!asks(&call), "{call}");
        }
        for (place, other) in [
            ("/rawInput/server_name", "another"),
            ("/rawInput/id", "mcp_tool_call_approval_call_2"),
            ("/rawInput/request/_meta/codex_approval_kind", "exec"),
            ("/rawInput/request/message", "Allow the subagent MCP server to run tool \"another\"?"),
            ("/title", "Run"),
        ] {
            let mut call = codex();
            *call.pointer_mut(place).unwrap() = other.into();
            assert!(!asks(&call), "{place}");
        }
        let mut call = codex();
        call["kind"] = "execute".into();
        assert!(!asks(&call));
    }
}
