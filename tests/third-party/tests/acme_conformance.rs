//! The suite of `subagent`, run by another crate on providers of its own.

use acme_agents::{GpuQuota, Metered, OnGpu, OneShot};
use subagent::testing::conformance::{Behaviour, Fixture, Staged, StartProbe, Steering};
use subagent::testing::{Script, ScriptedProvider};
use subagent::{Absent, Outcome, Present};

/// Children that are over at once: most of a run's life cannot be shown on them.
struct Echoes;

const OVER_AT_ONCE: [Behaviour; 9] = [
    Behaviour::Waits,
    Behaviour::Streams,
    Behaviour::Fails,
    Behaviour::Panics,
    Behaviour::IgnoresCancel,
    Behaviour::FailsToStart,
    Behaviour::PanicsInStart,
    Behaviour::HangsInStart,
    Behaviour::FailsToDispose,
];

impl Fixture for Echoes {
    type Provider = Metered<OneShot>;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Metered<OneShot>>> {
        matches!(behaviour, Behaviour::Completes | Behaviour::SettlesInStart)
            .then(|| Staged::new(Metered::new(OneShot), || 0).prompt(behaviour.text()))
    }

    fn cannot_show(&self) -> Vec<(Behaviour, &'static str)> {
        OVER_AT_ONCE
            .map(|behaviour| (behaviour, "a child echoes its prompt and is over when it starts"))
            .to_vec()
    }
}

subagent::conformance!(echoes, Echoes);

/// A wrapper that adds a capability of this crate's own.
struct Gpu;

type Inner = ScriptedProvider<Present, Present, Absent>;

fn scripted(script: Script) -> Staged<OnGpu<Inner>> {
    let provider = ScriptedProvider::new(script).without_resuming();
    let (live, seen) = (provider.log(), provider.log());
    Staged::new(OnGpu(provider), move || live.live_children()).sees(move || seen.messages())
}

impl Fixture for Gpu {
    type Provider = OnGpu<Inner>;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<OnGpu<Inner>>> {
        let text = behaviour.text();
        Some(scripted(match behaviour {
            Behaviour::FollowsUp => return None,
            Behaviour::Completes => Script::new().complete(text),
            Behaviour::Streams => Script::new().text(text),
            Behaviour::Fails => Script::new().settle(Outcome::error("the GPU is hot")),
            Behaviour::Panics => Script::new().panic("the script says so"),
            Behaviour::IgnoresCancel => Script::new().hang(),
            Behaviour::FailsToStart => Script::new().fail_start("no GPU"),
            Behaviour::PanicsInStart => Script::new().panic("the script says so").in_start(),
            Behaviour::HangsInStart => Script::new().hang().in_start(),
            Behaviour::SettlesInStart => Script::new().complete(text).in_start(),
            Behaviour::FailsToDispose => Script::new().complete(text).fail_dispose("the GPU is still hot"),
            Behaviour::Receives => Script::new().receive().receive().receive().complete(text),
            _ => Script::new(),
        }))
    }

    fn start_probes(&self) -> Vec<StartProbe<OnGpu<Inner>>> {
        vec![
            StartProbe::new(
                |request| request.with::<GpuQuota>(30),
                || {
                    scripted(Script::new().complete("rendered")).honours(|outcome| {
                        let text = outcome.output.to_text();
                        if text.contains("30 s") { Ok(()) } else { Err(format!("it said {text:?}")) }
                    })
                },
            ),
            StartProbe::new(
                |request| request.max_depth(4),
                || {
                    let provider = ScriptedProvider::replying("done").without_resuming();
                    let (log, live) = (provider.log(), provider.log());
                    Staged::new(OnGpu(provider), move || live.live_children()).honours(move |_outcome| {
                        let depth = log
                            .requests()
                            .pop()
                            .and_then(|seen| seen.capabilities.get("depth-limit").cloned());
                        if depth == Some(4.into()) { Ok(()) } else { Err(format!("the limit was {depth:?}")) }
                    })
                },
            ),
        ]
    }

    fn steering(&self) -> Option<Steering<OnGpu<Inner>>> {
        Some(Steering::probe())
    }
}

subagent::conformance!(
    #[tokio::test(start_paused = true)]
    a_wrapper_that_adds_a_capability,
    Gpu
);
