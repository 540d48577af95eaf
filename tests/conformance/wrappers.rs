//! The crate's own wrappers, around a scripted provider with everything.

use std::num::NonZeroU32;

use subagent::Outcome;
use subagent::testing::{Script, ScriptedProvider};
use subagent::wrap::{Fallback, Retry, Traced, Validated};

use crate::scripted::Everything;

fn accept(_outcome: &Outcome) -> Result<(), String> {
    Ok(())
}

fn validated(inner: ScriptedProvider) -> Validated<ScriptedProvider, fn(&Outcome) -> Result<(), String>> {
    Validated::new(inner, accept)
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
