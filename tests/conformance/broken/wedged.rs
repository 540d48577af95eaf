//! What the seam holds, a provider cannot break: shown on one whose children hear nothing, never settle.

use subagent::testing::conformance::{Held, Promise, hold};
use subagent::{Cancellation, Outcome, Settlement};

use crate::handmade::{Bench, Quirk, World};

struct Wedged;

impl Quirk for Wedged {
    async fn cancelled(_cancellation: &Cancellation, _world: &World) {
        std::future::pending::<()>().await;
    }

    fn settle(settlement: Settlement, outcome: Outcome) {
        if outcome.stop_reason.is_completed() {
            settlement.settle(outcome);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_seam_holds_is_kept_by_a_wedged_provider() {
    for promise in Promise::ALL.iter().filter(|promise| promise.held_by_the_seam()) {
        assert_eq!(hold(*promise, &Bench::<Wedged>::new()).await, Ok(Held::Kept), "{promise}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wedged_child_holds_no_waiter_and_is_gone_after_its_disposal() {
    for promise in [
        Promise::AWedgedChildIsSettledWithinTheGrace,
        Promise::ACancelledRunKeepsItsText,
        Promise::ATimeLimitEndsTheRun,
        Promise::ADisposedLiveRunIsAborted,
        Promise::ADroppedLiveRunLeavesNoChild,
        Promise::ShutdownCancelsAndWaits,
    ] {
        assert_eq!(hold(promise, &Bench::<Wedged>::new()).await, Ok(Held::Kept), "{promise}");
    }
}
