//! `Subagents`: providers by name, live runs, listeners.

mod builder;
mod control;
mod entries;
mod entry;
mod gate;
mod handle;
mod hub;
mod listeners;
mod registration;
mod slots;
mod subagents;

pub use builder::SubagentsBuilder;
pub use control::{RunControl, RunState};
pub(crate) use entry::Entry;
pub use handle::{AnyProviderHandle, ProviderHandle};
pub(crate) use hub::Hub;
pub use listeners::Subscription;
pub use registration::Registration;
pub use subagents::Subagents;
pub(crate) use subagents::is_unseen;
