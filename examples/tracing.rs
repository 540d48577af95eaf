//! Spans by the conventions of OpenTelemetry for generative AI: an agent that delegates.
//!
//! `cargo run --example tracing`
//!
//! Each line is a span that ended, behind the spans around it. The layer of the `tracing-opentelemetry` crate in place of
//! this one sends the same spans to a collector: it reads their names and states from the `otel.*` fields.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use serde_json::json;
use subagent::agent::{Agent, ToolContext, ToolSet, TurnOptions, tool_fn};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{Parent, Request, Spawn, Subagents};
use tracing_subscriber::fmt::format::FmtSpan;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_span_events(FmtSpan::CLOSE).with_target(false).without_time().init();

    // A child that answers, and a parent with a tool that hands its question on to one.
    let answers = ScriptedModel::new().then_always(ScriptedReply::new().text("42 files").usage(310, 4));
    let subagents = Subagents::new();
    let spawn = subagents.register("spawn", Spawn::new(answers.named("small-model")))?.leave_registered();
    let schema = json!({"type": "object", "properties": {"question": {"type": "string"}}});
    let delegate =
        tool_fn("delegate", "Hands a question on.", schema, move |arguments, context: ToolContext| {
            let spawn = spawn.clone();
            async move {
                let question = arguments["question"].as_str().unwrap_or_default();
                // The parent's limits, its cancellation and its model go with it; the model is chosen anew here.
                let request = Request::new(question).parent(&Parent::from(&context)).agent_type("counter");
                let run =
                    spawn.start(request.model("small-model")).await.map_err(|error| error.to_string())?;
                let result = run.collect().await.into_result().map_err(|error| error.to_string())?;
                Ok::<_, String>(result.text().into_owned())
            }
        });

    let asks = ScriptedReply::new().tool_call("call-1", "delegate", json!({"question": "How many files?"}));
    let says = ScriptedReply::new().text("There are 42.").usage(95, 6);
    let model = ScriptedModel::new().named("large-model").reply(asks.usage(80, 12)).reply(says);
    let mut agent = Agent::builder(Arc::new(model)).tools(ToolSet::new().with(delegate)?).build();
    let outcome = agent.run_turn(vec!["Count the files".into()], TurnOptions::new()).await;
    println!("{}", outcome.output.to_text());
    subagents.shutdown().await;
    Ok(())
}
