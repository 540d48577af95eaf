//! `Spawn`: fresh children in the same program, through the public API.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod cancel;
mod delegation;
mod fresh;
mod limits;
mod model;
mod steering;
mod support;
mod tools;
