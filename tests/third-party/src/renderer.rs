use subagent::{DepthLimit, Provider, Settlement, StartError, StartRequest};

use crate::{GpuQuota, OneShotRun};

/// Renders scenes: it supports this crate's own capability and a built-in one.
#[derive(Debug)]
pub struct Renderer;

subagent::supports!(Renderer: GpuQuota, DepthLimit);

impl Provider for Renderer {
    type Run = OneShotRun;

    async fn start(
        &self,
        mut request: StartRequest,
        settlement: Settlement,
    ) -> Result<OneShotRun, StartError> {
        let seconds = request.take::<GpuQuota>();
        let depth = request.take::<DepthLimit>();
        settlement.complete(format!(
            "rendered {} within {seconds:?} GPU seconds, to depth {depth:?}",
            request.prompt_text()
        ));
        Ok(OneShotRun)
    }
}
