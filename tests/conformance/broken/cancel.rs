//! Providers that go wrong when a run is cancelled.

use subagent::testing::conformance::Promise;
use subagent::{Cancellation, Outcome, Settlement, StopReason};

use super::assert_breaks;
use crate::handmade::{Quirk, World};

/// Its children do not listen.
struct IgnoresCancel;

impl Quirk for IgnoresCancel {
    async fn cancelled(_cancellation: &Cancellation, _world: &World) {
        std::future::pending::<()>().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_that_ignores_a_cancellation() {
    // The messages that it had accepted are lost too: the seam, which settles in its place, knows nothing of them.
    assert_breaks::<IgnoresCancel>(&[
        Promise::ACancelledChildSettlesByItself,
        Promise::UndeliveredMessagesAreListed,
    ])
    .await;
}

/// Its children hear of each other's cancellation.
struct CancelsSiblings;

impl Quirk for CancelsSiblings {
    async fn cancelled(cancellation: &Cancellation, world: &World) {
        tokio::select! {
            () = cancellation.cancelled() => world.alarm.notify_waiters(),
            () = world.alarm.notified() => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_that_reaches_a_sibling() {
    assert_breaks::<CancelsSiblings>(&[Promise::ACancelledRunLeavesItsSiblingsAlone]).await;
}

/// It puts a word of its own in the place of what the child has said.
struct LosesPartialText;

impl Quirk for LosesPartialText {
    fn settle(settlement: Settlement, outcome: Outcome) {
        let said = "(cancelled)";
        let outcome =
            if outcome.stop_reason == StopReason::Aborted { outcome.with_output(said) } else { outcome };
        settlement.settle(outcome);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_child_whose_text_is_lost() {
    assert_breaks::<LosesPartialText>(&[Promise::ACancelledRunKeepsItsText]).await;
}
