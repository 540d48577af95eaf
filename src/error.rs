//! Errors: one type per operation. Each says in `code()` what happened in a form that programs can rely on.

mod chain;
mod dispose;
mod payload;
mod register;
mod resume;
mod run_fault;
mod start;
mod steer;
mod structured;

pub(crate) use chain::chain;
pub use dispose::DisposeError;
pub(crate) use payload::{contain, message};
pub use register::{NoProvider, RegisterError};
pub use resume::ResumeError;
pub use run_fault::RunFault;
pub use start::StartError;
pub use steer::SteerError;
pub use structured::StructuredError;

/// An error of a provider's own, as the cause of one of the seam's.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The names that there are, for a message.
fn listed<T: std::fmt::Display>(names: &[T]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
