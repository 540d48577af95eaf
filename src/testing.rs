//! Stand-ins for what costs money or cannot be foreseen: for the tests of those who build on this crate.

mod scripted_model;

pub use scripted_model::{ScriptedModel, ScriptedReply};
