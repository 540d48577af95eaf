use futures::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::capability::NoOutput;
use crate::error::chain;
use crate::run::{Live, Run};
use crate::stop_reason::StopReason;
use crate::testing::conformance::bench::{Bench, Door, result, short, staged};
use crate::testing::conformance::violation::{Checked, broken, ensure};
use crate::testing::conformance::{Behaviour, Fixture};
use crate::update::Update;

pub(crate) async fn a_cancelled_child_settles_by_itself<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    // A grace that is longer than the patience: what settles in time, settled by itself.
    let patience = fixture.patience();
    for by in ["the handle", "the request's token", "the parent's token"] {
        let bench = Bench::with_grace(staged(fixture, Behaviour::Waits)?, patience, patience * 4)?;
        let token = CancellationToken::new();
        let request = match by {
            "the request's token" => bench.request().cancellation(token.clone()),
            "the parent's token" => {
                bench.request().parent(&bench.parent.clone().with_cancellation(token.clone()))
            }
            _ => bench.request(),
        };
        let live = bench.started::<D>(request).await?;
        // Once before the child can have looked, and otherwise while it works.
        if by != "the request's token" {
            at_work(&bench).await;
        }
        if by == "the handle" {
            live.cancel("the conformance suite says so");
            live.cancel("once more, which changes nothing");
        } else {
            token.cancel();
        }
        let settled = tokio::time::timeout(patience, live.result()).await;
        let Ok(settled) = settled else {
            drop(live);
            return Err(broken(
                format!("cancelled by {by}, the child had not settled after {patience:?}"),
                "watch the request's `cancellation()`, and settle when the run is cancelled",
            ));
        };
        let id = live.id();
        aborted(result(settled)?.stop_reason(), &StopReason::Aborted)?;
        dispose(&bench, live).await?;
        aborted(&bench.events.pair(id)?.stop_reason, &StopReason::Aborted)?;
    }
    Ok(())
}

pub(crate) async fn a_wedged_child_is_settled_within_the_grace<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let bench = Bench::open(fixture, Behaviour::IgnoresCancel)?;
    let live = bench.started::<D>(bench.request()).await?;
    live.cancel("the conformance suite says so");
    let forced = result(bench.in_time("a cancelled run of a wedged child", live.result()).await?)?;
    aborted(forced.stop_reason(), &StopReason::Aborted)?;
    let id = live.id();
    dispose(&bench, live).await?;
    bench.no_child("after a wedged child was disposed of")?;
    bench.events.pair(id).map(drop)
}

pub(crate) async fn a_cancelled_run_keeps_its_text<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Streams)?;
    let live = bench.started::<D>(bench.request()).await?;
    streamed(&bench, &live).await?;
    live.cancel("the conformance suite says so");
    let cancelled = result(bench.in_time("a cancelled run", live.result()).await?)?;
    aborted(cancelled.stop_reason(), &StopReason::Aborted)?;
    kept(&cancelled.text())?;
    let id = live.id();
    dispose(&bench, live).await?;
    let ended = bench.events.pair(id)?;
    kept(&ended.output.map(|output| output.to_text().into_owned()).unwrap_or_default())
}

pub(crate) async fn a_time_limit_ends_the_run<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Waits)?;
    let limit = short(bench.patience);
    let live = bench.started::<D>(bench.request().time_limit(limit)).await?;
    let over = result(bench.in_time("a run with a time limit", live.result()).await?)?;
    aborted(over.stop_reason(), &StopReason::TimeLimit)?;
    let id = live.id();
    dispose(&bench, live).await?;
    aborted(&bench.events.pair(id)?.stop_reason, &StopReason::TimeLimit)?;
    bench.no_child("after a run that took too long was disposed of")
}

pub(crate) async fn a_cancelled_run_leaves_its_siblings_alone<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Waits)?;
    let one = bench.started::<D>(bench.request()).await?;
    let other = bench.started::<D>(bench.request()).await?;
    at_work(&bench).await;
    one.cancel("the conformance suite says so");
    bench.in_time("a cancelled run", one.result()).await?.ok();
    dispose(&bench, one).await?;
    // What the other one is told by mistake, it has to be given the time to show.
    at_work(&bench).await;
    let untouched = bench.events.ended(other.id()).is_none();
    ensure(
        untouched && bench.live() > 0,
        || "a run ended when another run of the provider was cancelled and disposed of".to_owned(),
        "runs of one provider are independent of each other",
    )?;
    dispose(&bench, other).await?;
    bench.shut_down("two disposals").await
}

/// Gives children a moment to get to where they wait.
async fn at_work<P: crate::Provider>(bench: &Bench<P>) {
    tokio::time::sleep(short(short(bench.patience))).await;
}

/// Waits until the child has reported all its text.
pub(super) async fn streamed<P: crate::Provider, R: Run>(
    bench: &Bench<P>,
    live: &Live<R, NoOutput>,
) -> Checked {
    let expected = Behaviour::Streams.text();
    let mut updates = live.updates();
    let mut text = String::new();
    let read = async {
        while text.len() < expected.len() {
            match updates.next().await {
                Some(Ok(update)) => {
                    if let Update::Text { text: piece } = &*update {
                        text.push_str(piece);
                    }
                }
                Some(Err(_)) => {}
                None => break,
            }
        }
    };
    bench.in_time("the text that the child streams", read).await?;
    ensure(
        text == expected,
        || format!("the child reported {text:?}"),
        "the staged child reports `Behaviour::Streams.text()` and then waits",
    )
}

fn kept(text: &str) -> Checked {
    ensure(
        text == Behaviour::Streams.text(),
        || format!("the output was {text:?}"),
        "the output of a cancelled run is the text reported so far: settle with it, or without output",
    )
}

pub(super) fn aborted(seen: &StopReason, right: &StopReason) -> Checked {
    ensure(
        seen == right,
        || format!("the stop reason was `{seen}`"),
        &format!(
            "the stop reason is `{right}`: what was not completed when it was cancelled is the seam's to name"
        ),
    )
}

pub(super) async fn dispose<P: crate::Provider, R: Run, O>(bench: &Bench<P>, live: Live<R, O>) -> Checked {
    let disposed = bench.in_time("the disposal", live.dispose()).await?;
    disposed.map_err(|error| broken(chain(&error), "the child is disposed of without an error"))
}
