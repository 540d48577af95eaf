//! A parent hands "read this file and report" to an in-process child, while a child of another kind works beside it.
//! In a terminal the runs are drawn live, as a tree; elsewhere each change is a line.
//!
//! `cargo run --example quickstart [FILE]`; without a file it reads the repository's Cargo.toml. With `--features genai`
//! it takes the model that `SUBAGENT_MODEL` names, at `SUBAGENT_BASE_URL` and with `SUBAGENT_API_KEY` if they are set.

#![expect(clippy::print_stdout, reason = "an example prints")]

mod common;

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use subagent::agent::ToolSet;
use subagent::tree::TreeView;
use subagent::{Parent, Request, Spawn, Subagents, provider_fn};
use tokio::time::sleep;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let default = || concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into();
    let file = std::env::args_os().nth(1).map_or_else(default, PathBuf::from);
    let path = file.display().to_string();

    // Two kinds of children: the built-in agent with a tool, and a closure of our own.
    let subagents = Subagents::new();
    let tools = ToolSet::new().with(common::inspect())?;
    let spawn = Spawn::builder().default_model(common::reading_model(&path)?).tools(tools).build();
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
    let mut view = TreeView::stdout(&subagents);
    let (reader, crier) = view
        .during(async {
            let request =
                Request::new(format!("Read {path} and report")).parent(&parent).agent_type("reader");
            // `max_depth` compiles here because `Spawn` supports it; on `shout` it would not.
            let reader = spawn.start(request.max_depth(2)).await?;
            let request = Request::new("two children at once").parent(&parent).agent_type("crier");
            let crier = shout.start(request).await?;
            // Both are disposed of on every path, and have their result.
            Ok::<_, Box<dyn Error>>(tokio::join!(reader.collect(), crier.collect()))
        })
        .await?;
    println!("{}", view.watch().summary());
    println!("reader: {}", reader.into_result()?.text());
    println!("crier:  {}", crier.into_result()?.text());

    // By name a capability is checked at run time, and refused before any child exists.
    match subagents.start("shout", Request::new("Whisper").persona("You whisper.")).await {
        Err(error) => println!("refused {error} [{}]", error.code()),
        Ok(run) => run.dispose().await?,
    }
    subagents.shutdown().await;
    Ok(())
}
