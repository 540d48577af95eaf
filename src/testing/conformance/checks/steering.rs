use super::cancel::{aborted, dispose};
use crate::capability::NoOutput;
use crate::content::{ContentBlock, ContentKind};
use crate::error::{SteerError, chain};
use crate::provider::Provider;
use crate::run::{Live, Run};
use crate::stop_reason::StopReason;
use crate::testing::conformance::bench::{Bench, ByName, Door, Typed, result};
use crate::testing::conformance::probe::SendMessage;
use crate::testing::conformance::violation::{Checked, broken, ensure};
use crate::testing::conformance::{Behaviour, Fixture};

/// Starts a run through the door and hands it, with its `send_message`, to a check.
macro_rules! steered {
    ($fixture:expr, $behaviour:expr, $door:ty, $check:ident) => {{
        let Some(steering) = $fixture.steering() else { return Ok(()) };
        let bench = Bench::open($fixture, $behaviour)?;
        if <$door as Door<F::Provider>>::BY_NAME {
            let live = bench.started::<ByName>(bench.request()).await?;
            let Ok(live) = live.into_steerable() else {
                return Err(broken(
                    "the erased run did not narrow",
                    "an erased run narrows to what its type has",
                ));
            };
            $check(&bench, live, |live, message| live.send_message(message)).await
        } else {
            let live = bench.started::<Typed>(bench.request()).await?;
            $check(&bench, live, steering.send).await
        }
    }};
}

pub(crate) async fn accepted_messages_are_seen_in_order<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    steered!(fixture, Behaviour::Receives, D, seen_in_order)
}

async fn seen_in_order<P: Provider, R: Run>(
    bench: &Bench<P>,
    live: Live<R, NoOutput>,
    send: SendMessage<R>,
) -> Checked {
    let seen = bench.seen("`Behaviour::Receives`")?;
    let accepted = send_all(bench, &live, send).await?;
    let completed = result(bench.in_time("a run that has got its messages", live.result()).await?)?;
    let told = ours(&seen());
    let (reason, undelivered) = (completed.stop_reason().clone(), completed.undelivered().len());
    dispose(bench, live).await?;
    ensure(
        told == accepted && undelivered == 0 && reason == StopReason::Completed,
        || {
            format!(
                "{accepted:?} were accepted; the child saw {told:?}, {undelivered} were listed as undelivered, and the run ended with `{reason}`"
            )
        },
        "an accepted message is seen by the child before the run completes, once, in the order accepted",
    )
}

pub(crate) async fn undelivered_messages_are_listed<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    steered!(fixture, Behaviour::Waits, D, listed_or_seen)
}

async fn listed_or_seen<P: Provider, R: Run>(
    bench: &Bench<P>,
    live: Live<R, NoOutput>,
    send: SendMessage<R>,
) -> Checked {
    let seen = bench.seen("`Behaviour::Waits`")?;
    let accepted = send_all(bench, &live, send).await?;
    live.cancel("the conformance suite says so");
    let cancelled = result(bench.in_time("a cancelled run", live.result()).await?)?;
    aborted(cancelled.stop_reason(), &StopReason::Aborted)?;
    let mut told = ours(&seen());
    told.extend(ours(cancelled.undelivered()));
    dispose(bench, live).await?;
    ensure(
        told == accepted,
        || format!("{accepted:?} were accepted; seen by the child or listed as undelivered were {told:?}"),
        "what a cancelled run did not deliver is in `Outcome::undelivered`, in the order accepted",
    )
}

pub(crate) async fn a_settled_run_takes_no_message<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    steered!(fixture, Behaviour::Completes, D, refused)
}

async fn refused<P: Provider, R: Run>(
    bench: &Bench<P>,
    live: Live<R, NoOutput>,
    send: SendMessage<R>,
) -> Checked {
    bench.in_time("a run that completes", live.result()).await?.ok();
    let late = bench.in_time("a message", send(&live, "too late".into())).await?;
    dispose(bench, live).await?;
    match late {
        Err(SteerError::Settled) => Ok(()),
        other => Err(broken(
            format!("a message to a settled run gave {other:?}"),
            "`SteerError::Settled`: what is accepted is delivered or listed, and nothing can be after the end",
        )),
    }
}

pub(crate) async fn a_message_that_is_not_carried_is_refused<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    steered!(fixture, Behaviour::Waits, D, uncarried_is_refused)
}

async fn uncarried_is_refused<P: Provider, R: Run>(
    bench: &Bench<P>,
    live: Live<R, NoOutput>,
    send: SendMessage<R>,
) -> Checked {
    let empty = bench.in_time("a message", send(&live, Vec::new().into())).await?;
    let carried = bench.registration.provider().content();
    let image = ContentBlock::image("iVBORw0KGgo=", "image/png");
    let uncarried = if carried.contains(ContentKind::Image) {
        Err(SteerError::UnsupportedContent { kind: ContentKind::Image, index: 0, carried })
    } else {
        bench.in_time("a message", send(&live, image.into())).await?
    };
    dispose(bench, live).await?;
    ensure(
        matches!(empty, Err(SteerError::EmptyMessage))
            && matches!(uncarried, Err(SteerError::UnsupportedContent { kind: ContentKind::Image, .. })),
        || format!("an empty message gave {empty:?}, and an image that is not carried {uncarried:?}"),
        "an empty message and content that is not carried are refused, not dropped",
    )
}

async fn send_all<P: Provider, R: Run>(
    bench: &Bench<P>,
    live: &Live<R, NoOutput>,
    send: SendMessage<R>,
) -> Checked<Vec<String>> {
    let texts: Vec<String> =
        (1..=Behaviour::MESSAGES).map(|number| format!("conformance message {number}")).collect();
    for text in &texts {
        let accepted = bench.in_time("a message", send(live, text.as_str().into())).await?;
        accepted.map_err(|error| {
            broken(
                format!("a message to a live run was refused: {}", chain(&error)),
                "a live run takes messages until its child takes no more, which is `SteerError::Settled`",
            )
        })?;
    }
    Ok(texts)
}

/// The texts of the suite's own messages.
fn ours(messages: &[Vec<ContentBlock>]) -> Vec<String> {
    messages
        .iter()
        .flatten()
        .filter_map(ContentBlock::as_text)
        .filter(|text| text.starts_with("conformance message "))
        .map(str::to_owned)
        .collect()
}
