//! The official client of the Model Context Protocol for JavaScript, from npm.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::example::example;

/// Where `tests/mcp/sdk/install` puts the client; an error says what is missing.
fn installed() -> Result<PathBuf, String> {
    let place = std::env::var_os("SUBAGENT_MCP_SDK_DIR").map_or_else(
        || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cache/subagent-mcp-sdk"),
        PathBuf::from,
    );
    if place.join("ok").exists() {
        Ok(place)
    } else {
        Err("its package is not installed: tests/mcp/sdk/install, which needs node and npm".to_owned())
    }
}

#[tokio::test]
async fn the_official_client_delegates_over_stdio() {
    let place = match installed() {
        Ok(place) => place,
        Err(why) if std::env::var_os("SUBAGENT_REQUIRE_ALL").is_none() => {
            // Past the capture of the test harness, so that it is seen.
            writeln!(std::io::stderr(), "SKIPPED the official MCP client: {why}").unwrap();
            return;
        }
        Err(why) => unreachable!("{why}"),
    };
    // Modules are looked for beside the script.
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/sdk/client.mjs"), place.join("client.mjs"))
        .unwrap();
    let client = Command::new("node")
        .arg(place.join("client.mjs"))
        .arg(example("mcp_server", "rmcp"))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output =
        tokio::time::timeout(Duration::from_mins(2), client).await.expect("the client ends").unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{err}");
    assert!(out.ends_with("all is well\n"), "{out}\n{err}");
}
