//! A parent hands "read this file and report" to an in-process child, while a child of another kind works beside it.
//! In a terminal the runs are drawn live, as a tree; elsewhere each change is a line.
//!
//! `cargo run --example quickstart [FILE]`; without a file it reads the repository's Cargo.toml. With `--features genai`
//! it takes the model that `SUBAGENT_MODEL` names, at `SUBAGENT_BASE_URL` and with `SUBAGENT_API_KEY` if they are set.
//! With `--features acp` it also drives a child in a process of its own.

#![expect(clippy::print_stdout, reason = "an example prints")]

mod common;
#[cfg(feature = "acp")]
#[path = "common/own_process.rs"]
mod own_process;
#[path = "common/reader.rs"]
mod reader;

use std::error::Error;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use subagent::agent::ToolSet;
use subagent::tree::TreeView;
use subagent::{Parent, Request, Spawn, Subagents, provider_fn};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "acp")]
    if own_process::is_asked_for() {
        return own_process::serve().await;
    }
    let default = || concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into();
    let file = std::env::args_os().nth(1).map_or_else(default, PathBuf::from);
    let path = file.display().to_string();

    // Two kinds of children: the built-in agent with a tool, and a closure of our own.
    let subagents = Subagents::new();
    let tools = ToolSet::new().with(reader::inspect())?;
    let spawn = Spawn::builder().default_model(reader::reading_model(&path)?).tools(tools).build();
    let spawn = subagents.register("spawn", spawn)?;
    let shout = provider_fn(async |context| {
        for word in context.request.prompt_text().split_inclusive(' ') {
            sleep(Duration::from_millis(300)).await;
            context.progress.text(word.to_uppercase());
        }
        context.request.prompt_text().to_uppercase()
    });
    let shout = subagents.register("shout", shout)?;

    let parent = Parent::new("main", "session-1").with_working_dir(env!("CARGO_MANIFEST_DIR"));
    let tokens = NonZeroU32::new(100).ok_or("no tokens")?;
    let mut view = TreeView::stdout(&subagents);
    let (reader, crier) = view
        .during(async {
            let request =
                Request::new(format!("Read {path} and report")).parent(&parent).agent_type("reader");
            // These limits compile here because `Spawn` supports them; on `shout` they would not. A small real model
            // may talk without end: it is cut then, and what it said is kept.
            let reader = spawn.start(request.max_depth(2).max_output_tokens(tokens)).await?;
            let request = Request::new("two children at once").parent(&parent).agent_type("crier");
            let crier = shout.start(request).await?;
            // Both are disposed of on every path, and have their result.
            Ok::<_, Box<dyn Error>>(tokio::join!(reader.collect(), crier.collect()))
        })
        .await?;
    println!("{}", view.watch().summary());
    println!("reader: {}", reader.into_result()?.text());
    println!("crier:  {}", crier.into_result()?.text());

    #[cfg(feature = "acp")]
    own_process::drive(&subagents, &parent).await?;

    // By name a capability is checked at run time, and refused before any child exists.
    match subagents.start("shout", Request::new("Whisper").persona("You whisper.")).await {
        Err(error) => println!("refused {error} [{}]", error.code()),
        Ok(run) => run.dispose().await?,
    }
    subagents.shutdown().await;
    Ok(())
}
