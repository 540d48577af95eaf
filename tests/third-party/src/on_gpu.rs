use subagent::wrap::MappedRun;
use subagent::{ContentKinds, DepthLimit, Provider, Settlement, StartError, StartRequest, Supports};

use crate::GpuQuota;

/// Runs the children of the provider inside on a GPU of their own: a wrapper that adds a capability, and so lists all
/// that it supports.
#[derive(Debug)]
pub struct OnGpu<P>(pub P);

subagent::supports!([P: Supports<DepthLimit>] OnGpu<P>: GpuQuota, DepthLimit);

impl<P: Provider + Supports<DepthLimit>> Provider for OnGpu<P> {
    type Run = MappedRun<P::Run>;

    async fn start(
        &self,
        mut request: StartRequest,
        settlement: Settlement,
    ) -> Result<Self::Run, StartError> {
        let seconds = request.take::<GpuQuota>();
        MappedRun::start(&self.0, request, settlement, move |mut outcome| {
            if let Some(seconds) = seconds {
                outcome.output = format!("{} (on a GPU, {seconds} s)", outcome.output.to_text()).into();
            }
            outcome
        })
        .await
    }

    fn content(&self) -> ContentKinds {
        self.0.content()
    }
}
