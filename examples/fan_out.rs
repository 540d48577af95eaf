//! Many children at once, with limits: so many live at a time, so much time and so many steps each, and one that fails
//! takes no other along.
//!
//! `cargo run --example fan_out`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::num::{NonZeroU32, NonZeroUsize};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use subagent::agent::{Message, ModelRequest};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::tree::TreeView;
use subagent::{Parent, Request, Spawn, Subagents};
use tokio_util::sync::CancellationToken;

const TOPICS: [&str; 8] = ["ants", "bees", "cranes", "deer", "eels", "frogs", "geese", "hares"];

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // A scripted model: it takes its time, and never comes to an end about eels.
    let model = ScriptedModel::new().then_always_with(|request| {
        let topic = topic(request);
        if topic == "eels" {
            return ScriptedReply::new().text("Eels are a mystery").hang();
        }
        let time = Duration::from_millis(200 + 60 * topic.len() as u64);
        ScriptedReply::new().delay(time).text(format!("{topic} live in groups")).usage(40, 9)
    });

    // Three at a time; the others wait for their turn.
    let at_once = NonZeroUsize::new(3).ok_or("not zero")?;
    let grace = Duration::from_millis(200);
    let subagents = Subagents::builder().max_concurrent(at_once).cancel_grace(grace).build();
    let spawn = subagents.register("spawn", Spawn::new(model))?;

    // One token for all of them: whoever cancels it ends the whole fan-out.
    let all = CancellationToken::new();
    let parent = Parent::new("editor", "session-1").with_max_depth(1).with_cancellation(all.clone());
    let steps = NonZeroU32::new(4).ok_or("not zero")?;
    let ask = async |topic: &'static str| {
        // The time that a run waits for its turn counts.
        let request = Request::new(topic).parent(&parent).agent_type(format!("on {topic}"));
        let run = spawn.start(request.max_steps(steps).time_limit(Duration::from_secs(2))).await;
        let result = match run {
            Ok(run) => run.collect().await.into_result().map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        (topic, result)
    };

    let mut view = TreeView::stdout(&subagents);
    let answers: Vec<_> =
        view.during(TOPICS.map(ask).into_iter().collect::<FuturesUnordered<_>>().collect()).await;
    println!("{}", view.watch().summary());
    for (topic, result) in answers {
        match result {
            Ok(result) if result.is_completed() => println!("{topic}: {}", result.text()),
            Ok(result) => println!("{topic}: {}, with {:?} so far", result.stop_reason(), result.text()),
            Err(error) => println!("{topic}: {error}"),
        }
    }
    subagents.shutdown().await;
    Ok(())
}

fn topic(request: &ModelRequest) -> String {
    let messages = request.messages();
    let said = messages.iter().find_map(|message| match message {
        Message::User { content, .. } => content.first().and_then(|block| block.as_text()),
        _ => None,
    });
    said.unwrap_or_default().to_owned()
}
