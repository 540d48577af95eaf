use super::BoxError;

/// A child may not be wholly gone. The run's result is not touched by this.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DisposeError {
    /// The provider could not end all of it.
    #[error("the child could not be disposed of; something of it may be left")]
    Failed {
        /// The provider's own error.
        source: BoxError,
    },
    /// The provider panicked.
    #[error("the provider panicked while it disposed of the child: {message}")]
    Panicked {
        /// What the panic said.
        message: String,
    },
}

impl DisposeError {
    /// For providers: something of the child may be left, and this is why.
    pub fn failed(source: impl Into<BoxError>) -> Self {
        Self::Failed { source: source.into() }
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Failed { .. } => "DISPOSE_FAILED",
            Self::Panicked { .. } => "DISPOSE_PANICKED",
        }
    }
}
