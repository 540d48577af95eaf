use crate::request::StartRequest;
use crate::run::{Cancellation, Progress, Settlement};

/// What a child that is an async closure works with.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChildContext {
    /// What it is asked to do, for whom, and how deep in the tree it is.
    pub request: StartRequest,
    /// How it learns that its run is cancelled. [`Cancellation::token`] links its own work and children to it.
    pub cancellation: Cancellation,
    /// Where it reports what it does. The text reported is the output of a closure that returns none.
    pub progress: Progress,
}

impl ChildContext {
    pub(super) fn new(request: StartRequest, settlement: &Settlement) -> Self {
        let cancellation = settlement.cancellation();
        Self { request, cancellation, progress: settlement.progress() }
    }
}
