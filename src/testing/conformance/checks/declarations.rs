use futures::FutureExt;

use super::cancel::dispose;
use crate::provider::Provider;
use crate::run::{Presence, Run};
use crate::testing::conformance::bench::{Bench, ByName, Door};
use crate::testing::conformance::violation::{Checked, broken, ensure};
use crate::testing::conformance::{Behaviour, Fixture};

type Steer<F> = <<<F as Fixture>::Provider as Provider>::Run as Run>::Steer;
type Resume<F> = <<<F as Fixture>::Provider as Provider>::Run as Run>::Resume;

pub(crate) async fn what_is_skipped_is_declared<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    let declared = fixture.cannot_show();
    for (behaviour, reason) in &declared {
        ensure(!reason.trim().is_empty(), || format!("no reason is given for {behaviour}"), "say why")?;
        ensure(
            !behaviour.is_required(),
            || format!("the fixture says that the provider cannot show {behaviour}"),
            "every provider can show it: stage it",
        )?;
    }
    for behaviour in Behaviour::ALL {
        let shown = fixture.stage(behaviour).is_some();
        let skipped = declared.iter().filter(|(declared, _)| *declared == behaviour).count();
        let by_type = match behaviour {
            Behaviour::Receives => Some(Steer::<F>::PRESENT),
            Behaviour::FollowsUp => Some(Resume::<F>::PRESENT),
            _ => None,
        };
        match (by_type, shown, skipped) {
            (None | Some(true), true, 0) | (None, false, 1) | (Some(false), false, 0) => {}
            (Some(true), false, _) => {
                return Err(broken(
                    format!("the type of the runs has a runtime capability, and {behaviour} is not staged"),
                    "stage it: what the type declares is not skipped",
                ));
            }
            (Some(false), _, _) => {
                return Err(broken(
                    format!(
                        "{behaviour} is staged or skipped, and the type of the runs lacks the capability"
                    ),
                    "neither stage it nor declare it: the type says it all",
                ));
            }
            (_, true, _) => {
                return Err(broken(
                    format!("the fixture stages {behaviour} and says that the provider cannot show it"),
                    "take it out of `Fixture::cannot_show`: a declaration that is not true hides nothing",
                ));
            }
            (_, false, _) => {
                return Err(broken(
                    format!("{behaviour} is not staged, and declared {skipped} times"),
                    "stage it, or declare it once in `Fixture::cannot_show`, with the reason",
                ));
            }
        }
    }
    if declared.iter().any(|(behaviour, _)| *behaviour == Behaviour::Waits) {
        never_waits::<F, D>(fixture).await?;
    }
    Ok(())
}

/// Whether it is true that the provider's children cannot wait: they have settled when `start` returns.
async fn never_waits<F: Fixture, D: Door<F::Provider>>(fixture: &F) -> Checked {
    let bench = Bench::open(fixture, Behaviour::Completes)?;
    let live = bench.started::<D>(bench.request()).await?;
    let settled = live.result().now_or_never().is_some();
    dispose(&bench, live).await?;
    ensure(
        settled,
        || format!("a child was at work when `start` had returned, and {} is not staged", Behaviour::Waits),
        "a child that takes time can be made to wait: stage it",
    )
}

pub(crate) async fn runtime_capabilities_have_probes<F: Fixture, D: Door<F::Provider>>(
    fixture: &F,
) -> Checked {
    for (what, present, probed) in [
        ("steered", Steer::<F>::PRESENT, fixture.steering().is_some()),
        ("resumed", Resume::<F>::PRESENT, fixture.resuming().is_some()),
    ] {
        ensure(
            present == probed,
            || format!("runs can be {what}: {present}; the fixture has a probe for it: {probed}"),
            "`Fixture::steering` and `Fixture::resuming` return a probe exactly where the type has the capability",
        )?;
    }
    let bench = Bench::open(fixture, Behaviour::Completes)?;
    let live = bench.started::<ByName>(bench.request()).await?;
    let shown = Some((live.run().can_steer(), live.run().can_resume()));
    ensure(
        shown == Some((Steer::<F>::PRESENT, Resume::<F>::PRESENT)),
        || format!("an erased run says (can_steer, can_resume) = {shown:?}"),
        "an erased run says what its type says",
    )?;
    let (steerable, live) = match live.into_steerable() {
        Ok(live) => (true, live.erase()),
        Err(live) => (false, live),
    };
    ensure(
        steerable == Steer::<F>::PRESENT,
        || format!("narrowing an erased run to a steerable one succeeded: {steerable}"),
        "an erased run narrows to what its type has, and to nothing else",
    )?;
    drop(live);
    bench.shut_down("the drop of an erased run").await
}
