//! A child whose result is a Rust value: wrong ones go back to its model, and a completed run always has one.
//!
//! `cargo run --example typed_output`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use serde_json::json;
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{Request, Spawn, StructuredError, Subagents};

/// What the child is to deliver.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Review {
    /// From 1 to 5.
    stars: u8,
    findings: Vec<Finding>,
}

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct Finding {
    line: u32,
    text: String,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let deliver = |value| ScriptedReply::new().tool_call("", "deliver_result", value);
    let model = ScriptedModel::new()
        // The first child's first value does not fit, so its model gets it back.
        .reply(deliver(json!({ "stars": 4, "findings": [{ "line": "seven", "text": "too long" }] })))
        .reply(deliver(json!({ "stars": 4, "findings": [{ "line": 7, "text": "too long" }] })))
        // The second child delivers a list, which is no JSON object.
        .reply(deliver(json!({ "result": ["src/lib.rs", "src/spawn.rs"] })))
        // The third only talks.
        .then_always(ScriptedReply::new().text("It looks good to me."));

    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(model.clone()))?;

    let run = spawn.start(Request::new("Review src/lib.rs").output::<Review>()).await?;
    let settled = run.settle().await;
    let review: Review = settled.structured()?;
    println!("{} stars", review.stars);
    for finding in &review.findings {
        println!("    line {}: {}", finding.line, finding.text);
    }
    settled.dispose().await?;
    println!("the model was told: {}", last_error(&model));

    let run = spawn.start(Request::new("Which files matter?").output::<Vec<String>>()).await?;
    let files = run.collect().await.into_result()?.structured()?;
    println!("files: {}", files.join(", "));

    let run = spawn.start(Request::new("Review it again").output::<Review>()).await?;
    match run.collect().await.into_result()?.structured() {
        Err(error @ StructuredError::Incomplete { .. }) => println!("no value: {error}"),
        other => println!("unexpected: {other:?}"),
    }
    Ok(())
}

/// The tool error in the model's last but one request.
fn last_error(model: &ScriptedModel) -> String {
    let requests = model.requests();
    let results = requests.iter().flat_map(|request| {
        request.messages().into_iter().filter_map(|message| match message {
            subagent::agent::Message::ToolResults { results, .. } => {
                results[0].content[0].as_text().map(Into::into)
            }
            _ => None,
        })
    });
    results.last().unwrap_or_default()
}
