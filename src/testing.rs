//! Stand-ins for what costs money or cannot be foreseen: for the tests of those who build on this crate.

pub mod conformance;
pub mod model_conformance;
mod script;
mod scripted_model;
mod scripted_provider;
mod scripted_run;

pub use script::Script;
pub use scripted_model::{ScriptedModel, ScriptedReply};
pub use scripted_provider::{ScriptedLog, ScriptedProvider, SeenRequest};
pub use scripted_run::ScriptedRun;
