use subagent::{
    Absent, DepthLimit, Presence, Present, Provider, Settlement, StartError, StartRequest, ToolFilter,
};

use crate::OneShotRun;

/// What a [`Thinker`] thinks with.
pub trait Brain: Send + Sync + 'static {
    /// Whether it uses tools.
    type Tools: Presence;
}

/// Thinks with a brain `B`, and can have its tools filtered if the brain uses any.
#[derive(Debug)]
pub struct Thinker<B>(pub B);

subagent::supports!([B: Brain] Thinker<B>: DepthLimit, ToolFilter if B::Tools);

impl<B: Brain> Provider for Thinker<B> {
    type Run = OneShotRun;

    async fn start(
        &self,
        mut request: StartRequest,
        settlement: Settlement,
    ) -> Result<OneShotRun, StartError> {
        let depth = request.take::<DepthLimit>();
        let filter = request.take::<ToolFilter>();
        settlement.complete(format!("thought to depth {depth:?} with {filter:?}"));
        Ok(OneShotRun)
    }
}

/// A brain with tools.
#[derive(Debug)]
pub struct Worker;

impl Brain for Worker {
    type Tools = Present;
}

/// A brain without tools.
#[derive(Debug)]
pub struct Reader;

impl Brain for Reader {
    type Tools = Absent;
}
