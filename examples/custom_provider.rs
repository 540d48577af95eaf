//! An agent of one's own behind the seam: an async closure is the provider, and its runs can be steered.
//!
//! `cargo run --example custom_provider`

#![expect(clippy::print_stdout, reason = "an example prints what it does")]

use std::sync::Arc;

use futures::StreamExt;
use subagent::{Inbox, Outcome, Progress, Request, StopReason, Subagents, Update, steerable_provider_fn};

/// The agent that somebody has already: it works through a list, one step after the other.
struct Gardener {
    season: &'static str,
}

impl Gardener {
    async fn tend(&self, beds: &str, progress: &Progress, inbox: &mut Inbox) -> Result<String, String> {
        let mut log = Vec::new();
        for bed in beds.split(',').map(str::trim) {
            // Between two steps it reads what it was told meanwhile.
            while let Some(message) = inbox.try_recv() {
                let words = message.iter().filter_map(|block| block.as_text()).collect::<String>();
                log.push(format!("noted: {words}"));
            }
            if bed.is_empty() {
                return Err("a bed without a name: separate the names by commas".to_owned());
            }
            progress.report(Update::text(format!("{bed}… ")));
            tokio::task::yield_now().await;
            log.push(format!("{bed} is ready for {}", self.season));
        }
        Ok(log.join("; "))
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let gardener = Arc::new(Gardener { season: "spring" });

    let provider = steerable_provider_fn(move |context, mut inbox| {
        let gardener = Arc::clone(&gardener);
        async move {
            let beds = context.request.prompt_text();
            let tended = gardener.tend(&beds, &context.progress, &mut inbox);
            tokio::select! {
                tended = tended => tended.into(),
                // What the agent reported so far becomes the output.
                () = context.cancellation.cancelled() => Outcome::new(StopReason::Aborted),
            }
        }
    });

    let subagents = Subagents::new();
    let gardener = subagents.register("gardener", provider)?;

    let run = gardener.start(Request::new("roses, beans, herbs")).await?;
    run.send_message("mind the frost").await?;
    let mut updates = run.updates();
    while let Some(update) = updates.next().await {
        println!("update: {:?}", update?);
    }
    let result = run.collect().await.into_result()?;
    println!("{}: {}", result.stop_reason(), result.text());

    // The agent's own failure is a result, with its words as the diagnostic.
    let result = gardener.start(Request::new("roses, , herbs")).await?.collect().await.into_result()?;
    println!("{}: {}", result.stop_reason(), result.diagnostic().unwrap_or_default());
    Ok(())
}
