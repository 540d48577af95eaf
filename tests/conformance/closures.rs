//! A provider that is an async closure.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::future::{BoxFuture, FutureExt};
use subagent::testing::conformance::{Behaviour, Fixture, Staged};
use subagent::{ChildContext, Outcome, ProviderFn, StopReason, provider_fn};

struct Closure;

type Child = Box<dyn Fn(ChildContext) -> BoxFuture<'static, Outcome> + Send + Sync>;

/// A child that is alive.
struct Alive(Arc<AtomicUsize>);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn child(behaviour: Behaviour, context: ChildContext, alive: Alive) -> Outcome {
    let text = behaviour.text();
    match behaviour {
        Behaviour::Completes => return Outcome::completed(text),
        Behaviour::Fails => return Outcome::error("the closure said no"),
        Behaviour::Panics => panic!("the closure panics"),
        Behaviour::IgnoresCancel => std::future::pending::<()>().await,
        Behaviour::Streams => {
            context.progress.text(&text[..4]);
            context.progress.text(&text[4..]);
        }
        _ => {}
    }
    context.cancellation.cancelled().await;
    drop(alive);
    Outcome::new(StopReason::Aborted)
}

impl Fixture for Closure {
    type Provider = ProviderFn<Child>;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Self::Provider>> {
        let shown = [
            Behaviour::Completes,
            Behaviour::Waits,
            Behaviour::Fails,
            Behaviour::Panics,
            Behaviour::IgnoresCancel,
            Behaviour::Streams,
        ];
        if !shown.contains(&behaviour) {
            return None;
        }
        let live = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&live);
        let closure: Child = Box::new(move |context| {
            counted.fetch_add(1, Ordering::SeqCst);
            child(behaviour, context, Alive(Arc::clone(&counted))).boxed()
        });
        Some(Staged::new(provider_fn(closure), move || live.load(Ordering::SeqCst)))
    }

    fn cannot_show(&self) -> Vec<(Behaviour, &'static str)> {
        [
            Behaviour::FailsToStart,
            Behaviour::PanicsInStart,
            Behaviour::HangsInStart,
            Behaviour::SettlesInStart,
            Behaviour::FailsToDispose,
        ]
        .into_iter()
        .map(|behaviour| (behaviour, "a closure's start is made for it, and so is its disposal"))
        .collect()
    }
}

subagent::conformance!(
    #[tokio::test(start_paused = true)]
    a_closure,
    Closure
);
