//! Providers that go wrong when they end a child.

use subagent::testing::conformance::Promise;
use subagent::{DisposeError, StartError};

use super::violations;
use crate::handmade::{Alive, Bench, Child, HandmadeRun, Quirk};

async fn assert_names<Q: Quirk>(expected: &[Promise]) {
    let broken = violations(&Bench::<Q>::new()).await;
    for promise in expected {
        let named = broken.iter().find(|violation| violation.promise == *promise);
        assert!(named.is_some_and(|violation| violation.to_string().contains(promise.name())), "{broken:?}");
    }
}

/// It returns before the child is gone.
struct ReturnsTooEarly;

impl Quirk for ReturnsTooEarly {
    async fn dispose(child: &mut Child) -> Result<(), DisposeError> {
        child.abort();
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_disposal_that_returns_before_the_child_is_gone() {
    assert_names::<ReturnsTooEarly>(&[Promise::DisposeReturnsWhenTheChildIsGone]).await;
}

/// It ends nothing.
struct LeaksTheChild;

impl Quirk for LeaksTheChild {
    async fn dispose(child: &mut Child) -> Result<(), DisposeError> {
        child.task = None;
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_disposal_that_leaks_the_child() {
    assert_names::<LeaksTheChild>(&[
        Promise::AWedgedChildIsSettledWithinTheGrace,
        Promise::DisposeReturnsWhenTheChildIsGone,
        Promise::ADroppedLiveRunLeavesNoChild,
    ])
    .await;
}

/// It panics.
struct PanicsInDispose;

impl Quirk for PanicsInDispose {
    async fn dispose(_child: &mut Child) -> Result<(), DisposeError> {
        panic!("the child is somewhere else")
    }
}

#[tokio::test(start_paused = true)]
async fn a_disposal_that_panics() {
    assert_names::<PanicsInDispose>(&[
        Promise::DisposeReturnsWhenTheChildIsGone,
        Promise::ADisposedLiveRunIsAborted,
    ])
    .await;
}

/// It waits for a child that it did not tell to end.
struct WaitsWithoutEnd;

impl Quirk for WaitsWithoutEnd {
    async fn dispose(_child: &mut Child) -> Result<(), DisposeError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn a_disposal_that_never_ends() {
    assert_names::<WaitsWithoutEnd>(&[
        Promise::DisposeReturnsWhenTheChildIsGone,
        Promise::ShutdownCancelsAndWaits,
    ])
    .await;
}

/// Its child is left to itself where nobody can wait for its end.
struct LeaksOnDrop;

impl Quirk for LeaksOnDrop {
    fn started(run: HandmadeRun<Self>) -> Result<HandmadeRun<Self>, StartError> {
        run.child.lock().unwrap().outside = Some(Alive::new(&run.world));
        Ok(run)
    }

    fn drop_run(child: &mut Child) {
        Box::leak(Box::new(child.outside.take()));
    }
}

#[tokio::test(start_paused = true)]
async fn a_drop_that_leaks_the_child() {
    assert_names::<LeaksOnDrop>(&[Promise::ARunDroppedWithoutARuntimeEndsItsChild]).await;
}
