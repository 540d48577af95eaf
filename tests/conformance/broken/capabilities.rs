//! Providers that declare what they do not keep.

use std::num::NonZeroU32;

use subagent::testing::conformance::Promise;
use subagent::{ContentKind, ContentKinds, StartRequest, StepLimit};

use super::assert_breaks;
use crate::handmade::Quirk;

/// It declares a limit and does not look at it.
struct IgnoresTheLimit;

impl Quirk for IgnoresTheLimit {
    fn take_limit(request: &mut StartRequest) -> Option<NonZeroU32> {
        request.peek::<StepLimit>()
    }
}

#[tokio::test(start_paused = true)]
async fn a_declared_capability_that_is_ignored() {
    assert_breaks::<IgnoresTheLimit>(&[Promise::DeclaredCapabilitiesAreTaken]).await;
}

/// It takes the limit and does not bind the child to it.
struct TakesAndForgetsTheLimit;

impl Quirk for TakesAndForgetsTheLimit {
    fn honour(_limit: Option<NonZeroU32>, _follow_up: bool) -> Option<NonZeroU32> {
        None
    }
}

#[tokio::test(start_paused = true)]
async fn a_declared_capability_that_is_taken_and_not_honoured() {
    assert_breaks::<TakesAndForgetsTheLimit>(&[Promise::DeclaredCapabilitiesAreHonoured]).await;
}

/// It says that it carries images, and shows its children text alone.
struct DropsImages;

impl Quirk for DropsImages {
    fn content() -> ContentKinds {
        ContentKinds::TEXT.with(ContentKind::Image)
    }
}

#[tokio::test(start_paused = true)]
async fn content_that_is_said_to_be_carried_and_dropped() {
    assert_breaks::<DropsImages>(&[Promise::ContentThatIsCarriedReachesTheChild]).await;
}
