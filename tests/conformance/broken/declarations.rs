//! Fixtures that hide something.

use subagent::testing::conformance::{Behaviour, Fixture, Promise, Resuming, Staged, StartProbe, Steering};

use super::violations;
use crate::handmade::{Bench, Handmade, Honest, two_steps};

/// What a fixture says, over an honest provider.
#[derive(Clone, Copy)]
struct Says {
    stages: fn(Behaviour) -> bool,
    skips: &'static [(Behaviour, &'static str)],
    probes: usize,
    steering: bool,
    resuming: bool,
    counts: bool,
}

const TRUTH: Says =
    Says { stages: |_| true, skips: &[], probes: 1, steering: true, resuming: true, counts: true };

impl Fixture for Says {
    type Provider = Handmade<Honest>;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Handmade<Honest>>> {
        let staged = Bench::<Honest>::new().stage(behaviour).filter(|_| (self.stages)(behaviour))?;
        if self.counts {
            return Some(staged);
        }
        let mut provider = None;
        drop(staged.map(|real| provider = Some(real)));
        provider.map(|provider| Staged::new(provider, || 0))
    }

    fn cannot_show(&self) -> Vec<(Behaviour, &'static str)> {
        self.skips.to_vec()
    }

    fn start_probes(&self) -> Vec<StartProbe<Handmade<Honest>>> {
        (0..self.probes).map(|_| two_steps()).collect()
    }

    fn steering(&self) -> Option<Steering<Handmade<Honest>>> {
        self.steering.then(Steering::probe)
    }

    fn resuming(&self) -> Option<Resuming<Handmade<Honest>>> {
        self.resuming.then(Resuming::probe)
    }
}

async fn assert_first(says: Says, expected: Option<Promise>) {
    let broken = violations(&says).await;
    assert_eq!(broken.first().map(|violation| violation.promise), expected, "{broken:?}");
}

#[tokio::test(start_paused = true)]
async fn a_fixture_that_says_the_truth_passes() {
    assert_first(TRUTH, None).await;
}

#[tokio::test(start_paused = true)]
async fn a_skip_that_is_declared_with_a_reason_passes() {
    let skips = &[(Behaviour::Panics, "its children cannot panic")];
    assert_first(Says { stages: |behaviour| behaviour != Behaviour::Panics, skips, ..TRUTH }, None).await;
}

#[tokio::test(start_paused = true)]
async fn a_skip_that_is_not_declared() {
    let says = Says { stages: |behaviour| behaviour != Behaviour::Panics, ..TRUTH };
    assert_first(says, Some(Promise::WhatIsSkippedIsDeclared)).await;
}

#[tokio::test(start_paused = true)]
async fn a_skip_that_is_declared_and_not_true() {
    let says = Says { skips: &[(Behaviour::Panics, "its children cannot panic")], ..TRUTH };
    assert_first(says, Some(Promise::WhatIsSkippedIsDeclared)).await;
}

#[tokio::test(start_paused = true)]
async fn a_skip_without_a_reason() {
    let says = Says {
        stages: |behaviour| behaviour != Behaviour::Panics,
        skips: &[(Behaviour::Panics, " ")],
        ..TRUTH
    };
    assert_first(says, Some(Promise::WhatIsSkippedIsDeclared)).await;
}

#[tokio::test(start_paused = true)]
async fn a_skip_of_what_every_provider_can_show() {
    let skips = &[(Behaviour::Completes, "it never ends")];
    let says = Says { stages: |behaviour| behaviour != Behaviour::Completes, skips, ..TRUTH };
    assert_first(says, Some(Promise::WhatIsSkippedIsDeclared)).await;
}

#[tokio::test(start_paused = true)]
async fn a_skip_of_waiting_by_a_provider_whose_children_take_time() {
    let skips = &[(Behaviour::Waits, "it is impatient")];
    let says = Says { stages: |behaviour| behaviour != Behaviour::Waits, skips, ..TRUTH };
    assert_first(says, Some(Promise::WhatIsSkippedIsDeclared)).await;
}

#[tokio::test(start_paused = true)]
async fn a_runtime_capability_that_is_not_staged() {
    let says = Says { stages: |behaviour| behaviour != Behaviour::Receives, ..TRUTH };
    assert_first(says, Some(Promise::WhatIsSkippedIsDeclared)).await;
}

#[tokio::test(start_paused = true)]
async fn a_runtime_capability_without_a_probe() {
    assert_first(Says { steering: false, ..TRUTH }, Some(Promise::RuntimeCapabilitiesHaveProbes)).await;
    assert_first(Says { resuming: false, ..TRUTH }, Some(Promise::RuntimeCapabilitiesHaveProbes)).await;
}

#[tokio::test(start_paused = true)]
async fn a_start_time_capability_without_a_probe() {
    assert_first(Says { probes: 0, ..TRUTH }, Some(Promise::DeclaredCapabilitiesHaveProbes)).await;
}

#[tokio::test(start_paused = true)]
async fn a_start_time_capability_with_two_probes() {
    assert_first(Says { probes: 2, ..TRUTH }, Some(Promise::DeclaredCapabilitiesHaveProbes)).await;
}

#[tokio::test(start_paused = true)]
async fn a_count_of_children_that_counts_nothing() {
    assert_first(Says { counts: false, ..TRUTH }, Some(Promise::AStartedRunIsPublishedWithAChild)).await;
}
