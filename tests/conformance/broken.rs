//! Broken providers: the suite fails each and names the promises that it breaks, and no others.

mod cancel;
mod capabilities;
mod declarations;
mod dispose;
mod outcome;
mod resuming;
mod start;
mod steering;
mod wedged;

use subagent::testing::conformance::{Fixture, Promise, Violation, hold};

use crate::handmade::{Bench, Quirk};

/// The promises that the suite says are broken.
async fn violations<F: Fixture>(fixture: &F) -> Vec<Violation> {
    let mut violations = Vec::new();
    for promise in Promise::ALL {
        violations.extend(hold(*promise, fixture).await.err());
    }
    violations
}

async fn assert_broken<F: Fixture>(fixture: &F, expected: &[Promise]) {
    let violations = violations(fixture).await;
    let broken: Vec<_> = violations.iter().map(|violation| violation.promise).collect();
    let said: Vec<_> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(broken, expected, "{}", said.join("\n"));
    for (promise, message) in broken.iter().zip(&said) {
        assert!(message.contains(promise.name()) && message.contains(promise.words()), "{message}");
    }
}

/// A handmade provider with this quirk breaks exactly these promises.
async fn assert_breaks<Q: Quirk>(expected: &[Promise]) {
    assert_broken(&Bench::<Q>::new(), expected).await;
}
