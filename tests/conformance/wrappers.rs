//! The crate's own wrappers, around a scripted provider with everything.

use std::num::NonZeroU32;

use subagent::Outcome;
use subagent::testing::{Script, ScriptedProvider};
use subagent::wrap::{Fallback, Retry, Traced, Validated};

use crate::scripted::Everything;

type Check = fn(&Outcome) -> Result<(), String>;

/// What every honest child of the suite keeps to.
fn short(outcome: &Outcome) -> Result<(), String> {
    if outcome.output.len() > 1 { Err("more than one block".to_owned()) } else { Ok(()) }
}

fn validated(inner: ScriptedProvider) -> Validated<ScriptedProvider, Check> {
    Validated::new(inner, short)
}

fn tried_twice(inner: ScriptedProvider) -> Retry<ScriptedProvider> {
    Retry::new(inner, NonZeroU32::new(2).unwrap())
}

fn after_one_that_is_down(inner: ScriptedProvider) -> Fallback<ScriptedProvider, ScriptedProvider> {
    Fallback::new(ScriptedProvider::new(Script::new().fail_start("down")), inner)
}

subagent::conformance!(
    #[tokio::test(start_paused = true)]
    traced,
    Everything(Traced::new)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    validation,
    Everything(validated)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    retry,
    Everything(tried_twice)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    fallback,
    Everything(after_one_that_is_down)
);
