//! A framework of one's own on the seam: its agent type, its capability, its wrapper.
//!
//! `cargo run --example framework`

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use subagent::wrap::Fallback;
use subagent::{
    Capability, DisposeError, Outcome, Plain, Provider, Request, Run, Settlement, StartError, StartRequest,
    StopReason, Subagents,
};
use tokio::task::JoinSet;

/// A start-time capability of this framework: how many cents a child may spend.
struct Budget;

impl Capability for Budget {
    const NAME: &'static str = "my-framework/budget";
    type Value = u32;
    type Kind = Plain;

    fn narrow(earlier: u32, later: u32) -> u32 {
        earlier.min(later)
    }
}

/// The framework's agent type: it buys one thing after the other, as long as its budget lasts.
struct Shopper(u32);
subagent::supports!(Shopper: Budget);

impl Provider for Shopper {
    type Run = ShopperRun;

    async fn start(
        &self,
        mut request: StartRequest,
        settlement: Settlement,
    ) -> Result<ShopperRun, StartError> {
        let (price, mut left) = (self.0, request.take::<Budget>().unwrap_or(100));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            for thing in request.prompt_text().split(", ") {
                if left < price {
                    let broke = Outcome::new(StopReason::from("my-framework/broke"));
                    return settlement.settle(broke.with_diagnostic(format!("no money for {thing}")));
                }
                left -= price;
                settlement.progress().text(format!("{thing}. "));
            }
            settlement.complete(format!("all bought, {left} cents left"));
        });
        Ok(ShopperRun(tasks))
    }
}

struct ShopperRun(JoinSet<()>); // dropped, it ends its task

impl Run for ShopperRun {
    subagent::not_steerable!();
    subagent::not_resumable!();

    async fn dispose(mut self) -> Result<(), DisposeError> {
        self.0.shutdown().await;
        Ok(())
    }
}

/// The framework's wrapper: it counts what is started, and supports what the provider inside does.
struct Counted<P>(P, Arc<AtomicU32>);
subagent::supports!(Counted<P> => P);

impl<P: Provider> Provider for Counted<P> {
    type Run = P::Run;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<P::Run, StartError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.start(request, settlement).await
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let started = Arc::new(AtomicU32::new(0));
    let counted = |price| Counted(Shopper(price), Arc::clone(&started));
    // Where the first shop is too dear, the second is tried: the wrappers of the crate and of one's own go together.
    let shops = Fallback::new(counted(40), counted(15)).when(|outcome| !outcome.stop_reason.is_completed());
    let subagents = Subagents::new();
    let shops = subagents.register("shops", shops)?;
    for budget in [200, 50, 20] {
        let request = Request::new("milk, bread, eggs").with::<Budget>(budget);
        let result = shops.start(request).await?.collect().await.into_result()?;
        println!("{budget} cents, {}: {}", result.stop_reason(), result.text());
    }
    println!("{} children were started", started.load(Ordering::Relaxed));
    Ok(())
}
