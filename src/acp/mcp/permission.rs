use serde_json::Value;

/// Whether a permission request is for a call of this tool of this server and nothing else.
///
/// Agents name the tool in different places and forms. Only whole words that name server and tool count, so that a
/// command or a title that merely speaks of the tool is not taken for it.
pub(super) fn is_for(_server: &str, _tool: &str, request: &Value) -> bool {
    eprintln!("PERMISSION {request}");
    false
}
