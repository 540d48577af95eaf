//! A child that is told more while it works, and asked again when it is done.
//!
//! `cargo run --example steer`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use subagent::agent::{Message, ModelRequest, ToolSet, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{ContentBlock, Request, Spawn, SteerError, Subagents, Update};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Looks twice, then says what it was asked last.
    let look = || ScriptedReply::new().text("Looking. ").tool_call("", "look", json!({}));
    let model = ScriptedModel::new().reply(look()).reply(look()).then_always_with(|request| {
        ScriptedReply::new().text(format!("My last orders are: {:?}.", last_orders(request)))
    });
    let slow = tool_fn("look", "Looks around.", json!({"type": "object"}), async |_, _| {
        tokio::time::sleep(Duration::from_millis(50)).await;
        "nothing special"
    });

    let subagents = Subagents::new();
    let tools = ToolSet::new().with(slow)?;
    let spawn = subagents.register("spawn", Spawn::builder().default_model(model).tools(tools).build())?;
    let run = spawn.start(Request::new("Look around")).await?;

    let mut updates = run.updates();
    let mut steered = false;
    while let Some(update) = updates.next().await {
        match &*update? {
            Update::ToolCall { name, .. } if !steered => {
                println!("the child calls `{name}`; telling it more");
                run.send_message("Look for the exit, too").await?;
                steered = true;
            }
            Update::Text { text } => println!("the child says: {text}"),
            _ => {}
        }
    }
    // It is settled now: a message would never be read, so none is accepted.
    match run.send_message("One more thing").await {
        Err(error @ SteerError::Settled) => println!("refused: {error}"),
        other => println!("unexpected: {other:?}"),
    }

    let settled = run.settle().await;
    println!("result: {}", settled.result()?.text());
    let (first, id) = (settled.id(), settled.run().session().header().id.clone());
    // `settled.send_message(..)` does not compile; a follow-up is a run of its own, in the same session.
    let settled = settled.resume("Now leave").await?.settle().await;
    println!("follow-up: {}", settled.result()?.text());
    assert_eq!(settled.resumed_from(), Some(first));
    assert_eq!(settled.run().session().header().id, id);
    settled.dispose().await?;
    Ok(())
}

fn last_orders(request: &ModelRequest) -> String {
    let messages = request.messages();
    let orders = messages.iter().rev().find_map(|message| match message {
        Message::User { content, .. } => content.first().and_then(ContentBlock::as_text),
        _ => None,
    });
    orders.unwrap_or("none").to_owned()
}
