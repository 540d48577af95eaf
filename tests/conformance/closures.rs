//! Providers made from async closures, plain and steerable.

use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use subagent::testing::conformance::{Behaviour, Fixture, Staged, StartProbe, Steering};
use subagent::{
    ChildContext, Inbox, Outcome, Persona, Present, ProviderFn, StopReason, provider_fn,
    steerable_provider_fn,
};

use crate::handmade::{Alive, World};

type Answer = BoxFuture<'static, Outcome>;
type PlainChild = Box<dyn Fn(ChildContext) -> Answer + Send + Sync>;
type SteerableChild = Box<dyn Fn(ChildContext, Inbox) -> Answer + Send + Sync>;

async fn child(
    behaviour: Behaviour,
    context: ChildContext,
    inbox: Option<Inbox>,
    world: Arc<World>,
) -> Outcome {
    let seen = |message| world.seen.lock().unwrap().push(message);
    match (behaviour, inbox) {
        (Behaviour::Completes, _) => Outcome::completed(behaviour.text()),
        (Behaviour::Fails, _) => Outcome::error("the disk is full"),
        (Behaviour::Panics, _) => panic!("a child panics"),
        (Behaviour::IgnoresCancel, _) => std::future::pending().await,
        (Behaviour::Receives, Some(mut inbox)) => {
            for _ in 0..Behaviour::MESSAGES {
                inbox.recv().await.into_iter().for_each(seen);
            }
            Outcome::completed(behaviour.text())
        }
        _ => {
            context.progress.text(behaviour.text());
            context.cancellation.cancelled().await;
            Outcome::new(StopReason::Aborted)
        }
    }
}

const CANNOT: [(Behaviour, &str); 4] = [
    (Behaviour::FailsToStart, "a closure only begins"),
    (Behaviour::HangsInStart, "a closure begins at once"),
    (Behaviour::SettlesInStart, "a closure settles on its task"),
    (Behaviour::FailsToDispose, "the end of a task cannot fail"),
];

fn cannot(behaviour: Behaviour) -> bool {
    CANNOT.iter().any(|(cannot, _)| *cannot == behaviour) || behaviour == Behaviour::FollowsUp
}

/// A child is counted from the call of its closure to the end of its future.
fn staged<P>(provider: P, world: Arc<World>) -> Staged<P> {
    let seen = Arc::clone(&world);
    Staged::new(provider, move || world.live.load(std::sync::atomic::Ordering::SeqCst))
        .sees(move || seen.seen.lock().unwrap().clone())
}

struct Plain;

impl Fixture for Plain {
    type Provider = ProviderFn<PlainChild>;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Self::Provider>> {
        if cannot(behaviour) || behaviour == Behaviour::Receives {
            return None;
        }
        let world = Arc::new(World::default());
        let children = Arc::clone(&world);
        let closure: PlainChild = Box::new(move |context| {
            assert!(behaviour != Behaviour::PanicsInStart, "the closure panics before its future");
            let (alive, world) = (Alive::new(&children), Arc::clone(&children));
            async move {
                let _alive = alive;
                child(behaviour, context, None, world).await
            }
            .boxed()
        });
        Some(staged(provider_fn(closure), world))
    }

    fn cannot_show(&self) -> Vec<(Behaviour, &'static str)> {
        CANNOT.to_vec()
    }
}

struct Honoured;
subagent::supports!(Honoured: Persona);

type SteerableProvider = ProviderFn<SteerableChild, Present, Honoured>;

struct CanBeSteered;

impl Fixture for CanBeSteered {
    type Provider = SteerableProvider;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<SteerableProvider>> {
        if cannot(behaviour) {
            return None;
        }
        let world = Arc::new(World::default());
        let children = Arc::clone(&world);
        let closure: SteerableChild = Box::new(move |context, inbox| {
            assert!(behaviour != Behaviour::PanicsInStart, "the closure panics before its future");
            let (alive, world) = (Alive::new(&children), Arc::clone(&children));
            async move {
                let _alive = alive;
                child(behaviour, context, Some(inbox), world).await
            }
            .boxed()
        });
        Some(staged(steerable_provider_fn(closure).supporting(), world))
    }

    fn cannot_show(&self) -> Vec<(Behaviour, &'static str)> {
        CANNOT.to_vec()
    }

    fn start_probes(&self) -> Vec<StartProbe<SteerableProvider>> {
        let probe =
            || {
                let persona = Arc::new(Mutex::new(None));
                let noted = Arc::clone(&persona);
                let closure: SteerableChild = Box::new(move |mut context, _inbox| {
                    *noted.lock().unwrap() = context.request.take::<Persona>();
                    async { Outcome::completed("done") }.boxed()
                });
                let world = Arc::new(World::default());
                staged(steerable_provider_fn(closure).supporting(), world).honours(move |_outcome| {
                    match persona.lock().unwrap().as_deref() {
                        Some("terse") => Ok(()),
                        other => Err(format!("the child's persona was {other:?}")),
                    }
                })
            };
        vec![StartProbe::new(|request| request.persona("terse"), probe)]
    }

    fn steering(&self) -> Option<Steering<SteerableProvider>> {
        Some(Steering::probe())
    }
}

subagent::conformance!(
    #[tokio::test(start_paused = true)]
    a_closure,
    Plain
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    a_closure_with_an_inbox,
    CanBeSteered
);
