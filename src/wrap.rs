//! Wrappers: providers around providers, which try again, fall back or check.
//!
//! Each forwards what the provider inside supports, and no more: a request for a capability that the provider inside
//! lacks does not compile, and its runs can be steered and resumed exactly where the inner ones can.
//!
//! ```
//! use std::num::NonZeroU32;
//! use subagent::wrap::{Fallback, Retry, Validated};
//! use subagent::{Request, Subagents, provider_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let flaky = provider_fn(async |_context| Err::<String, _>("the line is down"));
//! let solid = provider_fn(async |_context| "42");
//!
//! let retried = Retry::new(flaky, NonZeroU32::new(3).ok_or("not zero")?);
//! let solid = Validated::new(solid, |outcome| {
//!     outcome.output.to_text().parse::<u32>().map(drop).map_err(|_| "a number is wanted".to_owned())
//! });
//! let provider = Fallback::new(retried, solid).when(|outcome| !outcome.stop_reason.is_completed());
//!
//! let subagents = Subagents::new();
//! let handle = subagents.register("careful", provider)?;
//! let result = handle.start(Request::new("How many?")).await?.collect().await.into_result()?;
//! assert_eq!(result.text(), "42");
//! # Ok(())
//! # }
//! ```
//!
//! A wrapper of your own does it the same way: [`StartRequest::attempt`](crate::StartRequest::attempt) and
//! [`narrow`](crate::StartRequest::narrow) for what goes in; [`MappedRun`] for what comes out of a run and its
//! follow-ups, or [`Settlement::map`](crate::Settlement::map) and [`intercept`](crate::Settlement::intercept) for one
//! outcome. A run type of its own does its work in [`Run::steer_with`](crate::Run::steer_with) and
//! [`Run::resume_with`](crate::Run::resume_with), which every message and every follow-up goes through.

mod attempts;
mod either;
mod fallback;
mod mapped;
mod retry;
mod validated;

pub use attempts::AttemptRun;
pub use either::EitherRun;
pub use fallback::Fallback;
pub use mapped::MappedRun;
pub use retry::Retry;
pub use validated::Validated;
