use subagent::{DisposeError, Provider, Run, Settlement, StartError, StartRequest};

/// Says back what it was told, and is done. It supports no start-time capability, and its runs have no runtime
/// capability.
#[derive(Debug)]
pub struct OneShot;

subagent::supports!(OneShot:);

impl Provider for OneShot {
    type Run = OneShotRun;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<OneShotRun, StartError> {
        settlement.complete(request.prompt_text());
        Ok(OneShotRun)
    }
}

/// A run that is over when it starts.
#[derive(Debug)]
pub struct OneShotRun;

impl Run for OneShotRun {
    subagent::not_steerable!();
    subagent::not_resumable!();

    async fn dispose(self) -> Result<(), DisposeError> {
        Ok(())
    }
}
