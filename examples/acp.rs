//! Any program that speaks the Agent Client Protocol as a child: it is drawn while it works, may read and no more, and
//! is gone at the end with all that it started. Ctrl-C cancels it.
//!
//! `cargo run --features acp --example acp -- PROMPT COMMAND [ARGUMENT]…`; the repository's own agent is such a command
//! (`cargo build --features acp --example acp_agent`, then `target/debug/examples/acp_agent`).

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::ffi::OsString;
use std::pin::pin;
use std::time::Duration;

use futures::future::{Either, select};
use subagent::acp::{Acp, EnvPolicy, PermissionDecision, PermissionPolicy, PermissionRequest};
use subagent::error::chain;
use subagent::tree::TreeView;
use subagent::{Parent, Request, Subagents};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(prompt), Some(command)) = (arguments.next(), arguments.next()) else {
        return Err("usage: acp PROMPT COMMAND [ARGUMENT]…".into());
    };
    let rest: Vec<OsString> = arguments.collect();

    // The child gets no credentials of ours but the ones that it may need.
    let keys = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"];
    let set = keys.into_iter().filter(|key| std::env::var_os(key).is_some());
    let environment = set.fold(EnvPolicy::scrubbed(), EnvPolicy::pass);
    let program = Acp::builder(command)
        .arguments(rest)
        .environment(environment)
        .permissions(PermissionPolicy::ask(Duration::from_secs(5), reading_only))
        .build()?;
    let subagents = Subagents::new();
    let program = subagents.register("program", program)?;

    let stop = CancellationToken::new();
    let parent = Parent::new("main", "session-1")
        .with_working_dir(std::env::current_dir()?)
        .with_cancellation(stop.clone());
    let request = Request::new(prompt.to_string_lossy().into_owned()).parent(&parent).agent_type("program");

    let mut view = TreeView::stdout(&subagents);
    let work = async {
        // The causes name the command and quote what it wrote to stderr.
        let run = program.start(request).await.map_err(|error| chain(&error))?;
        Ok::<_, Box<dyn Error>>(run.collect().await.into_result()?)
    };
    // A cancelled run still settles, with what it said so far.
    let interrupted = async {
        if tokio::signal::ctrl_c().await.is_ok() {
            stop.cancel();
        }
    };
    let work = async {
        let (work, interrupted) = (pin!(work), pin!(interrupted));
        match select(work, interrupted).await {
            Either::Left((result, _)) => result,
            Either::Right(((), work)) => work.await,
        }
    };
    let result = view.during(work).await?;
    println!("{}", view.watch().summary());
    println!("{}: {}", result.stop_reason(), result.text());
    if let Some(diagnostic) = result.diagnostic() {
        println!("because {diagnostic}");
    }
    Ok(())
}

/// It may read and search; whatever else it asks for is refused, and it is told so.
async fn reading_only(request: PermissionRequest) -> PermissionDecision {
    match request.tool_kind.as_deref() {
        Some("read" | "search") => PermissionDecision::Allow,
        _ => PermissionDecision::Deny,
    }
}
