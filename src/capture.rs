//! Structured output: how a child's model delivers a value, and when it counts. The one implementation, for children
//! in this program and in others.

mod contract;
mod delivery;
#[cfg(feature = "jsonschema")]
mod validator;
mod wrapped;

pub use contract::OutputContract;
#[cfg(feature = "jsonschema")]
pub use validator::UnusableSchema;

pub(crate) use delivery::{Delivery, Offer, Verdict};

/// The name of the tool that a model delivers its value with, where none of its other tools has it.
pub(crate) const TOOL: &str = "deliver_result";

/// What the model is told of that tool.
pub(crate) const TOOL_DESCRIPTION: &str = "Delivers your final result and ends your task. Call it once, when the work is \
                                           done; its arguments are the result.";

/// What the model is told when its value is taken.
pub(crate) const DELIVERED: &str = "The result is delivered.";
