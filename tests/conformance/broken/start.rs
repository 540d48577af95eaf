//! Providers that go wrong while they start a child.

use subagent::StartError;
use subagent::testing::conformance::Promise;

use super::assert_breaks;
use crate::handmade::{Alive, HandmadeRun, Quirk};

/// Its failed start leaves the child running.
struct LeavesTheChildOfAFailedStart;

impl Quirk for LeavesTheChildOfAFailedStart {
    async fn undo(run: HandmadeRun<Self>) -> Result<HandmadeRun<Self>, StartError> {
        run.child.lock().unwrap().task = None;
        Err(StartError::failed("the child did not answer"))
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_error_that_leaves_a_child() {
    assert_breaks::<LeavesTheChildOfAFailedStart>(&[Promise::AFailedStartLeavesNothing]).await;
}

/// Its start does not keep its child in a guard.
struct ForgetsTheChildOfADroppedStart;

impl Quirk for ForgetsTheChildOfADroppedStart {
    async fn hang(run: HandmadeRun<Self>) -> Result<HandmadeRun<Self>, StartError> {
        Box::leak(Box::new(Alive::new(&run.world)));
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_start_that_leaves_a_child() {
    assert_breaks::<ForgetsTheChildOfADroppedStart>(&[Promise::AStartDroppedHalfWayLeavesNoChild]).await;
}

/// Its failed start is a panic.
struct PanicsInsteadOfAnError;

impl Quirk for PanicsInsteadOfAnError {
    async fn undo(_run: HandmadeRun<Self>) -> Result<HandmadeRun<Self>, StartError> {
        panic!("the child did not answer")
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_that_panics_instead_of_failing() {
    assert_breaks::<PanicsInsteadOfAnError>(&[Promise::AFailedStartLeavesNothing]).await;
}

/// Its start succeeds before a child exists.
struct StartsNothing;

impl Quirk for StartsNothing {
    fn started(run: HandmadeRun<Self>) -> Result<HandmadeRun<Self>, StartError> {
        run.child.lock().unwrap().abort();
        Ok(run)
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_without_a_child() {
    let broken = super::violations(&crate::handmade::Bench::<StartsNothing>::new()).await;
    assert!(
        broken.iter().any(|violation| violation.promise == Promise::ACompletedChildGivesWhatItSaid),
        "{broken:?}"
    );
}
