//! The tools with which a model delegates.

mod arguments;
mod background;
mod control;
mod delivery;
mod foreground;
mod ownership;
mod parent;
mod support;
