//! Providers that go wrong with follow-ups.

use std::num::NonZeroU32;

use subagent::testing::conformance::{Behaviour, Promise};

use super::assert_breaks;
use crate::handmade::Quirk;

/// It drops the limits of the first request.
struct DropsTheLimits;

impl Quirk for DropsTheLimits {
    fn honour(limit: Option<NonZeroU32>, follow_up: bool) -> Option<NonZeroU32> {
        limit.filter(|_| !follow_up)
    }
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_without_the_old_limits() {
    assert_breaks::<DropsTheLimits>(&[Promise::CapabilitiesStayInForceWhenResumed]).await;
}

/// It answers a follow-up with what the first turn has said.
struct RepeatsTheFirstTurn;

impl Quirk for RepeatsTheFirstTurn {
    fn follow_up_text() -> &'static str {
        Behaviour::FollowsUp.text()
    }
}

#[tokio::test(start_paused = true)]
async fn a_follow_up_that_repeats_the_first_turn() {
    assert_breaks::<RepeatsTheFirstTurn>(&[Promise::AResumedRunIsANewRun]).await;
}
