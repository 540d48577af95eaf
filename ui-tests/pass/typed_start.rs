//! A typed start: what the request asks for is checked by the compiler, and the run has what its type says.

use acme_agents::Chat;
use subagent::{Request, Subagents};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let subagents = Subagents::new();
    let chat = subagents.register("chat", Chat { waits_for: 1 })?;

    let run = chat.start(Request::new("one").max_depth(2).output::<String>().persona("A poet")).await?;
    run.send_message("two").await?;
    let settled = run.settle().await;
    assert_eq!(settled.structured()?, "[depth 2] [as A poet] one, two");

    let again = settled.resume("three").await?;
    again.send_message("four").await?;
    let answer: String = again.collect().await.into_result()?.structured()?;
    assert_eq!(answer, "[depth 2] [as A poet] one, two, three, four");
    Ok(())
}
