//! The wrappers of the crate around the scripted provider: each keeps what the provider inside keeps.

use std::num::NonZeroU32;
use std::sync::Arc;

use subagent::Outcome;
use subagent::testing::{Script, ScriptedProvider};
use subagent::wrap::{Fallback, Retry, Validated};

use crate::scripted::Everything;

const TWICE: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

type Check = fn(&Outcome) -> Result<(), String>;

fn retried<P>(inner: P) -> Retry<P> {
    Retry::new(inner, TWICE)
}

/// Both providers are one, so that the children of both are counted.
fn fallen_back(inner: ScriptedProvider) -> Fallback<Arc<ScriptedProvider>, Arc<ScriptedProvider>> {
    let inner = Arc::new(inner);
    Fallback::new(Arc::clone(&inner), inner)
        .when(|outcome| outcome.stop_reason == subagent::StopReason::Error)
}

fn after_one_that_is_down(inner: ScriptedProvider) -> Fallback<ScriptedProvider, ScriptedProvider> {
    Fallback::new(ScriptedProvider::new(Script::new().fail_start("down")), inner)
}

fn validated<P>(inner: P) -> Validated<P, Check> {
    let check: Check = |outcome| {
        let said = outcome.output.to_text();
        if said.is_empty() { Err("the child said nothing".to_owned()) } else { Ok(()) }
    };
    Validated::new(inner, check)
}

subagent::conformance!(
    #[tokio::test(start_paused = true)]
    retry,
    Everything(retried)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    fallback,
    Everything(fallen_back)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    fallback_from_one_that_is_down,
    Everything(after_one_that_is_down)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    validation,
    Everything(validated)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    all_of_them,
    Everything(|scripted| retried(validated(fallen_back(scripted))))
);
