use crate::error::{DisposeError, RunFault, chain};
use crate::result::SubagentResult;

/// A run's result and how the disposal of its child went; neither hides the other.
#[derive(Debug)]
#[must_use = "this holds the run's result"]
#[non_exhaustive]
pub struct Collected<O> {
    /// The result; an error only where the provider broke its promise.
    pub result: Result<SubagentResult<O>, RunFault>,
    /// Whether the child is wholly gone.
    pub disposal: Result<(), DisposeError>,
}

impl<O> Collected<O> {
    /// The result alone. A failed disposal is logged.
    ///
    /// # Errors
    ///
    /// [`RunFault`] when the provider broke its promise, so that there is no result.
    pub fn into_result(self) -> Result<SubagentResult<O>, RunFault> {
        if let Err(error) = &self.disposal {
            tracing::error!(error = chain(error), "a child was not disposed of");
        }
        self.result
    }
}
