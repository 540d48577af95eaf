//! Children that live in the same program: what [`Spawn`](crate::Spawn) and its like share.

mod builder;
mod children;
mod error;
mod models;
mod run;
mod settings;
mod turn;

pub(crate) use builder::builder_methods;
pub use error::ChildSetupError;
pub use run::AgentRun;
pub(crate) use settings::{Child, Inherited, Settings};
