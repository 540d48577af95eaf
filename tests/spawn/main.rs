//! Children in the same program, fresh and forked, through the public API.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod cancel;
mod delegation;
mod fork;
mod fresh;
mod limits;
mod model;
#[cfg(feature = "typed-output")]
mod output;
mod parallel;
mod policy;
mod random;
mod steering;
mod support;
mod tools;
