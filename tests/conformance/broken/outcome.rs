//! Providers that go wrong when they settle.

use std::num::NonZeroU32;

use subagent::testing::conformance::{Behaviour, Fixture, Promise, Resuming, Staged, StartProbe, Steering};
use subagent::{Outcome, Settlement, StartError};

use super::{assert_breaks, assert_broken, violations};
use crate::handmade::{Bench, Handmade, HandmadeRun, Honest, Quirk};

/// It settles with what another run has said.
struct SaysWhatAnotherSaid;

impl Quirk for SaysWhatAnotherSaid {
    fn settle(settlement: Settlement, outcome: Outcome) {
        let another = outcome.output.to_text() == Behaviour::Completes.text();
        settlement.settle(if another { outcome.with_output("What another run has said.") } else { outcome });
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_with_the_text_of_another_run() {
    assert_breaks::<SaysWhatAnotherSaid>(&[Promise::ACompletedChildGivesWhatItSaid]).await;
}

/// It loses its settlement where the child fails.
struct LosesTheSettlementOfAFailure;

impl Quirk for LosesTheSettlementOfAFailure {
    fn fail(settlement: Settlement) {
        drop(settlement);
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_whose_settlement_is_lost() {
    assert_breaks::<LosesTheSettlementOfAFailure>(&[Promise::AFailingChildIsAResult]).await;
}

/// It reports a failure as success.
struct FailureIsSuccess;

impl Quirk for FailureIsSuccess {
    fn fail(settlement: Settlement) {
        settlement.complete("the model said no");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_reported_as_completed() {
    assert_breaks::<FailureIsSuccess>(&[Promise::AFailingChildIsAResult]).await;
}

/// It catches a child's panic and forgets to settle.
struct SwallowsPanics;

impl Quirk for SwallowsPanics {
    fn panic(settlement: Settlement) {
        std::panic::catch_unwind(|| panic!("a child panics")).ok();
        drop(settlement);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_whose_settlement_is_lost() {
    assert_breaks::<SwallowsPanics>(&[Promise::APanickingChildIsAResult]).await;
}

/// It never settles.
struct NeverSettles;

impl Quirk for NeverSettles {
    fn settle(settlement: Settlement, _outcome: Outcome) {
        tokio::spawn(async move {
            settlement.cancellation().cancelled().await;
            settlement.settle(Outcome::new(subagent::StopReason::Aborted));
        });
    }

    fn started(run: HandmadeRun<Self>) -> Result<HandmadeRun<Self>, StartError> {
        Ok(run)
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_that_never_settles() {
    let broken: Vec<_> =
        violations(&Bench::<NeverSettles>::new()).await.iter().map(|violation| violation.promise).collect();
    for promise in [Promise::ACompletedChildGivesWhatItSaid, Promise::AChildMaySettleInsideStart] {
        assert!(broken.contains(&promise), "{broken:?}");
    }
}

/// An honest provider whose author claims that it reports what its children use.
struct ClaimsUsage;

impl Fixture for ClaimsUsage {
    type Provider = Handmade<Honest>;
    const REPORTS_USAGE: bool = true;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Handmade<Honest>>> {
        Bench::<Honest>::new().stage(behaviour)
    }

    fn start_probes(&self) -> Vec<StartProbe<Handmade<Honest>>> {
        Bench::<Honest>::new().start_probes()
    }

    fn steering(&self) -> Option<Steering<Handmade<Honest>>> {
        Some(Steering::probe())
    }

    fn resuming(&self) -> Option<Resuming<Handmade<Honest>>> {
        Some(Resuming::probe())
    }
}

#[tokio::test(start_paused = true)]
async fn usage_that_is_claimed_and_not_reported() {
    assert_broken(&ClaimsUsage, &[Promise::UsageIsReportedAsDeclared]).await;
}

/// It says that the child has completed where a limit ended it.
struct LimitIsSuccess;

impl Quirk for LimitIsSuccess {
    fn honour(limit: Option<NonZeroU32>, _follow_up: bool) -> Option<NonZeroU32> {
        limit
    }

    fn settle(settlement: Settlement, mut outcome: Outcome) {
        if outcome.stop_reason == subagent::StopReason::TurnLimit {
            outcome.stop_reason = subagent::StopReason::Completed;
        }
        settlement.settle(outcome);
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_is_reported_as_completed() {
    assert_breaks::<LimitIsSuccess>(&[Promise::DeclaredCapabilitiesAreHonoured]).await;
}
