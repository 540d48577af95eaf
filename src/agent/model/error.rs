use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// What lies behind a [`ModelError`]; shared, so that the error can be cloned.
pub type ModelErrorSource = Arc<dyn Error + Send + Sync>;

/// A model call failed. The text is safe to show; the source may not be.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Too many requests: the call may be tried again later.
    #[error("the model is rate limited{}", wait(*retry_after))]
    RateLimited {
        /// How long the vendor asks to wait.
        retry_after: Option<Duration>,
        /// What lies behind it.
        source: Option<ModelErrorSource>,
    },
    /// The credentials are missing, wrong or not good for this.
    #[error("the model refused the credentials: check the key and what it allows")]
    Authentication {
        /// What lies behind it.
        source: Option<ModelErrorSource>,
    },
    /// The model cannot take this request.
    #[error("the model cannot take the request: {message}")]
    BadRequest {
        /// What is wrong with it; safe to show.
        message: String,
        /// What lies behind it.
        source: Option<ModelErrorSource>,
    },
    /// The vendor failed.
    #[error("the model's server failed{}", http_status(*status))]
    Server {
        /// The HTTP status.
        status: Option<u16>,
        /// What lies behind it.
        source: Option<ModelErrorSource>,
    },
    /// The vendor could not be reached.
    #[error("the model cannot be reached")]
    Network {
        /// What lies behind it.
        source: Option<ModelErrorSource>,
    },
    /// The response broke off, or was not what the protocol allows.
    #[error("the model's response broke off before its end")]
    CutStream {
        /// What lies behind it.
        source: Option<ModelErrorSource>,
    },
    /// The model or a filter before it declined.
    #[error("the model declined: {message}")]
    Refused {
        /// In the vendor's words; safe to show.
        message: String,
    },
    /// Anything else.
    #[error("the model call failed: {message}")]
    Other {
        /// What happened; safe to show.
        message: String,
        /// What lies behind it.
        source: Option<ModelErrorSource>,
    },
}

impl ModelError {
    /// A rate limit.
    #[must_use]
    pub fn rate_limited(retry_after: Option<Duration>) -> Self {
        Self::RateLimited { retry_after, source: None }
    }

    /// A request that the model cannot take.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::BadRequest { message: message.into(), source: None }
    }

    /// A refusal.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::Refused { message: message.into() }
    }

    /// Any other failure.
    pub fn other(message: impl Into<String>) -> Self {
        Self::Other { message: message.into(), source: None }
    }

    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "RATE_LIMITED",
            Self::Authentication { .. } => "AUTHENTICATION",
            Self::BadRequest { .. } => "BAD_REQUEST",
            Self::Server { .. } => "SERVER",
            Self::Network { .. } => "NETWORK",
            Self::CutStream { .. } => "CUT_STREAM",
            Self::Refused { .. } => "REFUSED",
            Self::Other { .. } => "OTHER",
        }
    }
}

fn wait(retry_after: Option<Duration>) -> String {
    retry_after
        .map_or_else(String::new, |wait| format!(": it may be asked again in {} s", wait.as_secs_f64()))
}

fn http_status(status: Option<u16>) -> String {
    status.map_or_else(String::new, |status| format!(" with status {status}"))
}
