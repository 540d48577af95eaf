//! Structured output by a tool that the loop itself answers.

mod staging;
mod tool;

pub(super) use staging::Staged;
pub(super) use tool::CaptureTool;
