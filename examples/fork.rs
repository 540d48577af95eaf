//! A child that begins with its parent's conversation: it knows what was read, and answers for itself.
//!
//! `cargo run --example fork`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use subagent::agent::{Agent, Message, ModelRequest, TurnOptions, UsageLedger};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{ContentBlock, Fork, Parent, Request, Spawn, Subagents};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The scripted model counts the words of everything that it was ever told; a real one would read them.
    let model = ScriptedModel::new().then_always_with(|request| {
        let words = told(request).split_whitespace().count();
        ScriptedReply::new().text(format!("I know {words} words.")).usage(words as u64, 4)
    });
    let mut agent = Agent::builder(Arc::new(model.clone())).system_prompt("You read closely.").build();
    let text = include_str!("../Cargo.toml");
    agent.run_turn(vec![text.into()], TurnOptions::new()).await;
    let parent = Parent::from(&agent.as_caller(CancellationToken::new(), UsageLedger::new()));

    let subagents = Subagents::new();
    let fork = subagents.register("fork", Fork::new())?;
    let spawn = subagents.register("spawn", Spawn::builder().build())?;

    // Two forks and a fresh child, at the same time.
    let ask = || Request::new("How much do you know?").parent(&parent);
    let (one, two, fresh) = tokio::try_join!(fork.start(ask()), fork.start(ask()), spawn.start(ask()))?;
    let (one, two, fresh) = tokio::join!(one.settle(), two.settle(), fresh.settle());

    for (name, run) in [("first fork", &one), ("second fork", &two), ("fresh child", &fresh)] {
        let session = run.run().session();
        let result = run.result()?;
        println!("{name}: {}", result.text());
        println!(
            "    session {}: {} of {} events inherited, {} tokens read by itself",
            session.header().id,
            session.header().seed_length,
            session.len(),
            result.usage().own.iter().filter_map(|usage| usage.input_tokens).sum::<u64>(),
        );
    }

    // A fork goes on in its own session; the parent's stays as it was.
    let before = agent.session().len();
    let again = one.resume("And now?").await?.settle().await;
    println!("first fork, resumed: {}", again.result()?.text());
    println!("the parent's log: {before} events before, {} after", agent.session().len());

    for run in [again, two, fresh] {
        run.dispose().await?;
    }
    Ok(())
}

fn told(request: &ModelRequest) -> String {
    let messages = request.messages();
    let blocks = messages.iter().flat_map(|message| match message {
        Message::User { content, .. } => *content,
        _ => &[],
    });
    blocks.filter_map(ContentBlock::as_text).collect::<Vec<_>>().join(" ")
}
