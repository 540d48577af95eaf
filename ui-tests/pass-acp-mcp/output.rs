//! A child that is another program answers as a Rust value, where its provider was built with `structured()`; with
//! steering as well, in either order.

use subagent::acp::{Acp, AcpRun};
use subagent::{Live, Present, ProviderHandle, Request, StartError, Typed};

pub async fn count(provider: &ProviderHandle<Acp<Present, Present>>) -> Result<u32, Box<dyn std::error::Error>> {
    let run: Live<AcpRun<Present>, Typed<u32>> = provider.start(Request::new("Count").output::<u32>()).await?;
    run.send_message("The tests, too").await?;
    Ok(run.collect().await.into_result()?.structured()?)
}

pub async fn generic<P>(provider: &ProviderHandle<P>) -> Result<(), StartError>
where
    P: subagent::Provider + subagent::Supports<subagent::OutputSchema>,
{
    drop(provider.start(Request::new("Count").output::<u32>()).await?);
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _either_order: [Acp<Present, Present>; 2] = [
        Acp::builder("agent").structured().steering().output_retries(1).build()?,
        Acp::builder("agent").steering().structured().build()?,
    ];
    Ok(())
}
