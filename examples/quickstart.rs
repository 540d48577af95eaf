//! A parent hands "read this file and report" to an in-process child, while a child of another kind works beside it.
//!
//! `cargo run --example quickstart [FILE]`; without a file it reads the repository's Cargo.toml. With `--features genai`
//! it takes the model that `SUBAGENT_MODEL` names, at `SUBAGENT_BASE_URL` and with `SUBAGENT_API_KEY` if they are set.
//! With `--features acp` it also drives a child in a process of its own.

#![expect(clippy::print_stdout, reason = "an example prints")]

mod common;
#[cfg(feature = "acp")]
#[path = "common/own_process.rs"]
mod own_process;

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use futures::StreamExt;
use serde_json::json;
use subagent::agent::{Message, Model, ModelRequest, ToolSet, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{Event, Parent, Request, RunInfo, Spawn, Subagents, Updates, provider_fn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    #[cfg(feature = "acp")]
    if own_process::is_asked_for() {
        return own_process::serve().await;
    }
    let default = || concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml").into();
    let file = std::env::args_os().nth(1).map_or_else(default, PathBuf::from);
    let path = file.display().to_string();

    // The model is scripted, so that this runs without a key; the tool that it calls is real.
    let scripted = ScriptedModel::new()
        .reply(ScriptedReply::new().text("Let me look.").tool_call("1", "inspect", json!({ "path": path })))
        .reply_with(|request| ScriptedReply::new().text(format!("I read it: {}", last_result(request))));
    let model: Arc<dyn Model> = common::real_model()?.unwrap_or_else(|| Arc::new(scripted));
    let inspect = tool_fn(
        "inspect",
        "Reads a text file.",
        json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        async |arguments, _| {
            let path = arguments["path"].as_str().ok_or("`path` must be a string")?;
            let text =
                std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))?;
            let first = text.lines().next().unwrap_or_default();
            Ok::<_, String>(format!("{} lines, the first is {first:?}", text.lines().count()))
        },
    );

    let subagents = Subagents::new();
    let _events = subagents.subscribe(|event| match event {
        Event::Started(started) => println!("event    {} started, depth {}", name(event), started.run.depth),
        Event::Ended(ended) => println!("event    {} ended: {}", name(event), ended.stop_reason),
        other => println!("event    {other:?}"),
    });
    let tools = ToolSet::new().with(inspect)?;
    let spawn = subagents.register("spawn", Spawn::builder().default_model(model).tools(tools).build())?;
    let shout = provider_fn(async |context| {
        context.progress.text("…");
        context.request.prompt_text().to_uppercase()
    });
    let shout = subagents.register("shout", shout)?;

    let parent = Parent::new("main", "session-1").with_working_dir(env!("CARGO_MANIFEST_DIR"));
    let request = Request::new(format!("Read {path} and report")).parent(&parent).agent_type("reader");
    // `max_depth` compiles here because `Spawn` supports it; on `shout` it would not.
    let reader = spawn.start(request.max_depth(2)).await?;
    let crier = shout.start(Request::new("two children at once").parent(&parent).agent_type("crier")).await?;

    println!("tree     {} (session {})", parent.agent_id(), parent.session_id());
    for run in [reader.info(), crier.info()] {
        println!("tree     └─ {} on `{}`, run {}", kind(run), run.provider, run.run_id);
    }
    tokio::join!(print("reader", reader.updates()), print("crier", crier.updates()));
    let (reader, crier) = tokio::join!(reader.collect(), crier.collect());
    println!("result   reader: {}", reader.into_result()?.text());
    println!("result   crier:  {}", crier.into_result()?.text());

    #[cfg(feature = "acp")]
    own_process::drive(&subagents, &parent).await?;

    // By name a capability is checked at run time, and refused before any child exists.
    match subagents.start("shout", Request::new("Whisper").persona("You whisper.")).await {
        Err(error) => println!("refused  {error} [{}]", error.code()),
        Ok(run) => run.dispose().await?,
    }
    subagents.shutdown().await;
    Ok(())
}

fn last_result(request: &ModelRequest) -> String {
    match request.messages().last() {
        Some(Message::ToolResults { results, .. }) => {
            results.iter().flat_map(|result| &result.content).filter_map(|block| block.as_text()).collect()
        }
        _ => "nothing".into(),
    }
}

async fn print(who: &str, mut updates: Updates) {
    while let Some(update) = updates.next().await {
        match update {
            Ok(update) => println!("update   {who}: {}", serde_json::to_string(&*update).unwrap_or_default()),
            Err(missed) => println!("update   {who}: {missed}"),
        }
    }
}

fn name(event: &Event) -> String {
    match event {
        Event::Started(started) => kind(&started.run),
        Event::Ended(ended) => kind(&ended.run),
        _ => String::new(),
    }
}

fn kind(run: &RunInfo) -> String {
    run.agent_type.as_deref().unwrap_or("child").to_owned()
}
