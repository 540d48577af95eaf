use crate::id::RunId;

/// A run ended in a way that is no result of the child: its provider broke a promise.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunFault {
    /// The provider dropped its settlement without settling.
    #[error(
        "the provider of run {run_id} dropped its settlement without settling; every end of a child must settle"
    )]
    SettlementLost {
        /// The run's id.
        run_id: RunId,
    },
    /// The provider said that the child completed, but its value does not fit the requested type.
    #[error("run {run_id} claims to have completed, but its value does not fit the requested type: {reason}")]
    WrongValue {
        /// The run's id.
        run_id: RunId,
        /// Where it does not fit, and how.
        reason: String,
    },
    /// The provider said that the child completed, but there is no value.
    #[error("run {run_id} claims to have completed, but it carries no value for the requested output")]
    MissingValue {
        /// The run's id.
        run_id: RunId,
    },
}

impl RunFault {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::SettlementLost { .. } => "SETTLEMENT_LOST",
            Self::WrongValue { .. } => "WRONG_VALUE",
            Self::MissingValue { .. } => "MISSING_VALUE",
        }
    }
}
