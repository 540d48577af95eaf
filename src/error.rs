//! Errors: one type per operation. Each says in `code()` what happened in a form that programs can rely on.
//!
//! The text of an error is one sentence about its own level. What lies behind it, a provider's own error for example, is
//! its [`source`](std::error::Error::source) and not repeated in the text. [`chain`] tells all of it:
//!
//! ```
//! use subagent::SteerError;
//! use subagent::error::chain;
//!
//! let error = SteerError::failed("the pipe is closed");
//! assert_eq!(error.code(), "STEER_FAILED");
//! assert_eq!(error.to_string(), "the message could not be handed to the child");
//! assert_eq!(chain(&error), "the message could not be handed to the child: the pipe is closed");
//! ```

mod chain;
mod dispose;
mod payload;
mod refused;
mod register;
mod resume;
mod run_fault;
mod start;
mod steer;
mod structured;

pub use chain::chain;
pub use dispose::DisposeError;
pub(crate) use payload::{contain, message};
pub use refused::Refused;
pub use register::{NoProvider, RegisterError};
pub use resume::ResumeError;
pub use run_fault::RunFault;
pub use start::StartError;
pub use steer::SteerError;
pub use structured::StructuredError;

/// An error of a provider's own, as the cause of one of the seam's.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The names that there are, for a message.
pub(crate) fn listed<T: std::fmt::Display>(names: &[T]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
