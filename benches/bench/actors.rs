//! The same work by an actor library: spawn, ask, stop.

use kameo::actor::{ActorRef as KameoRef, Spawn};
use kameo::message::{Context, Message};
use ractor::{ActorProcessingErr, ActorRef, RpcReplyPort};
use subagent::Outcome;
use tokio::runtime::Runtime;

use crate::measure::{current_thread, in_turns, nanos_each, two_workers};
use crate::seam::typed_runs;
use crate::table::{Bar, Table};

const RUNS: u32 = 5_000;
const ROUNDS: usize = 15;

pub fn measure(table: &mut Table) {
    for (name, runtime) in [("current thread", current_thread()), ("two workers", two_workers())] {
        let faster = Some(Bar::AtLeast(2.0));
        let compared = in_turns(ROUNDS, || typed_runs(&runtime), || by_kameo(&runtime));
        table.compared(
            &format!("a typed run, faster than kameo's spawn + ask + stop, {name}"),
            &compared,
            faster,
        );
        let compared = in_turns(ROUNDS, || typed_runs(&runtime), || by_ractor(&runtime));
        table.compared(
            &format!("a typed run, faster than ractor's spawn + ask + stop, {name}"),
            &compared,
            faster,
        );
    }
}

struct Work;

#[derive(kameo::Actor)]
struct Kameo;

impl Message<Work> for Kameo {
    type Reply = Result<Outcome, ()>;

    async fn handle(&mut self, _work: Work, _context: &mut Context<Self, Self::Reply>) -> Self::Reply {
        Ok(Outcome::completed("ok"))
    }
}

fn by_kameo(runtime: &Runtime) -> f64 {
    nanos_each(runtime, RUNS, async {
        for _ in 0..RUNS {
            let actor: KameoRef<Kameo> = Kameo::spawn(Kameo);
            let outcome = actor.ask(Work).await.expect("it answers");
            assert!(outcome.stop_reason.is_completed());
            actor.stop_gracefully().await.expect("it stops");
            actor.wait_for_shutdown().await;
        }
    })
}

struct Ractor;

impl ractor::Actor for Ractor {
    type Msg = RpcReplyPort<Outcome>;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _me: ActorRef<Self::Msg>, (): ()) -> Result<(), ActorProcessingErr> {
        Ok(())
    }

    async fn handle(
        &self,
        _me: ActorRef<Self::Msg>,
        reply: Self::Msg,
        (): &mut (),
    ) -> Result<(), ActorProcessingErr> {
        reply.send(Outcome::completed("ok"))?;
        Ok(())
    }
}

fn by_ractor(runtime: &Runtime) -> f64 {
    nanos_each(runtime, RUNS, async {
        for _ in 0..RUNS {
            let (actor, task) = ractor::Actor::spawn(None, Ractor, ()).await.expect("it starts");
            let answered = actor.call(|reply| reply, None).await.expect("it is asked");
            assert!(answered.expect("it answers").stop_reason.is_completed());
            actor.stop(None);
            task.await.expect("it stops");
        }
    })
}
