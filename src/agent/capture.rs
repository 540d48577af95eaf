//! Structured output: how the agent's model delivers a value, and when it counts.

mod contract;
mod delivery;
mod tool;
#[cfg(feature = "jsonschema")]
mod validator;
mod wrapped;

pub use contract::OutputContract;
#[cfg(feature = "jsonschema")]
pub use validator::UnusableSchema;

pub(super) use delivery::{Delivery, Staged, Verdict};
pub(super) use tool::CaptureTool;
