use super::RunFault;
use crate::stop_reason::StopReason;

/// There is no structured value to return.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StructuredError {
    /// The request carried no schema.
    #[error("the request did not ask for structured output; give it a schema before it starts")]
    NotRequested,
    /// The run did not complete.
    #[error("the run ended with `{stop_reason}` and has no structured value{}", because(diagnostic.as_deref()))]
    Incomplete {
        /// Why it ended.
        stop_reason: StopReason,
        /// What went wrong, safe to show.
        diagnostic: Option<String>,
    },
    /// The value does not fit the type.
    #[error("the structured value does not fit the type: {reason}")]
    Mismatch {
        /// Where it does not fit, and how.
        reason: String,
    },
    /// The run has no result.
    #[error("the run has no result")]
    Fault(#[source] RunFault),
}

impl StructuredError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotRequested => "NOT_REQUESTED",
            Self::Incomplete { .. } => "INCOMPLETE",
            Self::Mismatch { .. } => "MISMATCH",
            Self::Fault(_) => "RUN_FAULT",
        }
    }
}

fn because(diagnostic: Option<&str>) -> String {
    diagnostic.map_or_else(String::new, |diagnostic| format!(": {diagnostic}"))
}
