use tokio_util::sync::CancellationToken;

use crate::error::{StartError, chain};
use crate::testing::conformance::bench::{Bench, Door};
use crate::testing::conformance::violation::{Checked, broken, ensure};
use crate::testing::conformance::{Behaviour, Fixture};

pub(crate) async fn a_started_run_is_published_with_a_child<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Waits)?;
    let live = bench.started::<D>(bench.request()).await?;
    let children = bench.live();
    ensure(
        children > 0,
        || "no live child while a run waits".to_owned(),
        "`start` returns once a child exists, and the fixture's `live_children` counts it",
    )?;
    let listed = bench.subagents.control(live.id()).is_some();
    let told = bench.events.started(live.id());
    let Some(run) = told.filter(|_| listed) else {
        return Err(broken(
            "no `Started` event, or no listed run",
            "a run whose start returned is published",
        ));
    };
    let expected = &bench.parent;
    let named = run.agent_type.as_deref() == Some("conformance")
        && run.parent_agent_id.as_ref() == Some(expected.agent_id())
        && run.parent_session_id.as_ref() == Some(expected.session_id())
        && run.depth == expected.depth() + 1;
    ensure(
        named,
        || format!("`Started` spoke of {run:?}"),
        "the events name the agent type, the parent and the depth of the request",
    )?;
    let disposed = bench.in_time("the disposal", live.dispose()).await?;
    disposed.map_err(|error| broken(chain(&error), "the child is disposed of"))?;
    bench.shut_down("a disposal").await
}

pub(crate) async fn a_failed_start_leaves_nothing<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    let bench = Bench::open(fixture, Behaviour::FailsToStart)?;
    match bench.in_time("the start", D::start(&bench, bench.request())).await? {
        Err(StartError::Failed { run_id: Some(_), .. }) => {}
        Err(error) => {
            return Err(broken(chain(&error), "a child that could not be launched is `StartError::failed`"));
        }
        Ok(live) => {
            drop(live);
            return Err(broken("the start succeeded", "the provider staged for a failing start fails it"));
        }
    }
    bench.no_trace("when `start` had failed")?;
    bench.shut_down("a failed start").await
}

pub(crate) async fn a_panic_in_start_is_a_start_error<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let bench = Bench::open(fixture, Behaviour::PanicsInStart)?;
    match bench.in_time("the start", D::start(&bench, bench.request())).await? {
        Err(StartError::Panicked { .. }) => {}
        Err(error) => return Err(broken(chain(&error), "the panic is a `StartError::Panicked`")),
        Ok(live) => {
            drop(live);
            return Err(broken("the start succeeded", "the provider staged for a panic in `start` panics"));
        }
    }
    bench.no_trace("when `start` had panicked")?;
    bench.shut_down("a panic in `start`").await
}

pub(crate) async fn a_cancelled_token_starts_no_child<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let cancelled = CancellationToken::new();
    cancelled.cancel();
    for parents in [false, true] {
        let bench = Bench::open(fixture, Behaviour::Completes)?;
        let request = if parents {
            bench.request().parent(&bench.parent.clone().with_cancellation(cancelled.clone()))
        } else {
            bench.request().cancellation(cancelled.clone())
        };
        let whose = if parents { "the parent's" } else { "the request's" };
        match bench.in_time("the start", D::start(&bench, request)).await? {
            Err(StartError::Cancelled { .. }) => {}
            Err(error) => return Err(broken(chain(&error), "`StartError::Cancelled`")),
            Ok(live) => {
                drop(live);
                return Err(broken(
                    format!("a child was started although {whose} token was cancelled"),
                    "a token that is cancelled already never starts a child",
                ));
            }
        }
        bench.no_trace("after a start with a cancelled token")?;
    }
    Ok(())
}
