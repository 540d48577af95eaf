//! The scripted provider, with everything and with each capability taken away.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::{Value, json};
use subagent::testing::conformance::{Behaviour, Fixture, Probed, Resuming, Staged, StartProbe, Steering};
use subagent::testing::{Script, ScriptedProvider};
use subagent::{
    Absent, DepthLimit, ModelChoice, ModelUsage, Outcome, OutputSchema, OutputTokenLimit, Persona, Present,
    Provider, Resumable, Schema, Steerable, StepLimit, Supports, ToolFilter, Usage,
};

pub(crate) fn scripts(behaviour: Behaviour) -> Vec<Script> {
    let text = behaviour.text();
    vec![match behaviour {
        Behaviour::Completes => {
            let mut usage = Usage::default();
            usage.add(&ModelUsage::new("scripted", 3, 5));
            Script::new().settle(Outcome::completed(text).with_usage(usage))
        }
        Behaviour::Streams => Script::new().text(&text[..4]).text(&text[4..]),
        Behaviour::Fails => Script::new().settle(Outcome::error("the model said no")),
        Behaviour::Panics => {
            Script::new().wait(std::time::Duration::from_millis(1)).panic("the script says so")
        }
        Behaviour::IgnoresCancel => Script::new().hang(),
        Behaviour::FailsToStart => Script::new().fail_start("no such program"),
        Behaviour::PanicsInStart => Script::new().panic("the script says so").in_start(),
        Behaviour::HangsInStart => Script::new().hang().in_start(),
        Behaviour::SettlesInStart => Script::new().complete(text).in_start(),
        Behaviour::FailsToDispose => Script::new().complete(text).fail_dispose("a lock file is left"),
        Behaviour::Receives => {
            (0..Behaviour::MESSAGES).fold(Script::new(), |script, _| script.receive()).complete(text)
        }
        Behaviour::FollowsUp => {
            return vec![Script::new().complete(text), Script::new().complete(behaviour.follow_up_text())];
        }
        _ => Script::new(),
    }]
}

pub(crate) fn staged(provider: ScriptedProvider) -> Staged<ScriptedProvider> {
    let (live, seen) = (provider.log(), provider.log());
    Staged::new(provider, move || live.live_children()).sees(move || seen.messages())
}

pub(crate) fn plays(behaviour: Behaviour) -> Staged<ScriptedProvider> {
    staged(ScriptedProvider::playing(scripts(behaviour)))
}

/// A scripted provider that shows whether the value of a capability reached it.
fn receives(name: &'static str, value: Value) -> Probed<ScriptedProvider> {
    let provider = ScriptedProvider::replying("done");
    let log = provider.log();
    staged(provider).honours(move |outcome| {
        let received = log.requests().pop().and_then(|request| request.capabilities.get(name).cloned());
        let structured = outcome.structured == Some(json!({ "reply": "done" }));
        match received {
            Some(received) if received == value && (structured || name != "output-schema") => Ok(()),
            other => Err(format!("{other:?} reached the child, which ended with {outcome:?}")),
        }
    })
}

/// A probe for each capability, for what `wrap` makes of a scripted provider.
pub(crate) fn probes<Q>(wrap: fn(ScriptedProvider) -> Q) -> Vec<StartProbe<Q>>
where
    Q: Provider
        + Supports<OutputSchema>
        + Supports<DepthLimit>
        + Supports<ToolFilter>
        + Supports<Persona>
        + Supports<ModelChoice>
        + Supports<OutputTokenLimit>
        + Supports<StepLimit>,
{
    let schema = json!({ "type": "object" });
    let five = NonZeroU32::new(5).unwrap();
    let wrapped = move |name, value: Value| move || receives(name, value.clone()).map(wrap);
    vec![
        StartProbe::new(
            |request| request.output_schema(Schema::new(json!({ "type": "object" })).unwrap()),
            wrapped("output-schema", schema),
        ),
        StartProbe::new(|request| request.max_depth(7), wrapped("depth-limit", json!(7))),
        StartProbe::new(
            |request| request.tool_filter(ToolFilter::allow(["read"])),
            wrapped("tool-filter", json!({ "allow": ["read"] })),
        ),
        StartProbe::new(|request| request.persona("terse"), wrapped("persona", json!("terse"))),
        StartProbe::new(|request| request.model("small"), wrapped("model-choice", json!("small"))),
        StartProbe::new(
            move |request| request.max_output_tokens(five),
            wrapped("output-token-limit", json!(5)),
        ),
        StartProbe::new(move |request| request.max_steps(five), wrapped("step-limit", json!(5))),
    ]
}

/// With everything.
pub(crate) struct Everything<Q>(pub(crate) fn(ScriptedProvider) -> Q);

impl<Q> Fixture for Everything<Q>
where
    Q: Provider<Run: Steerable + Resumable>
        + Supports<OutputSchema>
        + Supports<DepthLimit>
        + Supports<ToolFilter>
        + Supports<Persona>
        + Supports<ModelChoice>
        + Supports<OutputTokenLimit>
        + Supports<StepLimit>,
{
    type Provider = Q;
    const REPORTS_USAGE: bool = true;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Q>> {
        Some(plays(behaviour).map(self.0))
    }

    fn start_probes(&self) -> Vec<StartProbe<Q>> {
        probes(self.0)
    }

    fn steering(&self) -> Option<Steering<Q>> {
        Some(Steering::probe())
    }

    fn resuming(&self) -> Option<Resuming<Q>> {
        Some(Resuming::probe())
    }
}

struct WithoutCapabilities;

impl Fixture for WithoutCapabilities {
    type Provider = ScriptedProvider<Absent>;
    const REPORTS_USAGE: bool = true;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Self::Provider>> {
        Some(plays(behaviour).map(ScriptedProvider::without_capabilities))
    }

    fn steering(&self) -> Option<Steering<Self::Provider>> {
        Some(Steering::probe())
    }

    fn resuming(&self) -> Option<Resuming<Self::Provider>> {
        Some(Resuming::probe())
    }
}

struct WithoutSteering;

impl Fixture for WithoutSteering {
    type Provider = ScriptedProvider<Present, Absent>;
    const REPORTS_USAGE: bool = true;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Self::Provider>> {
        let staged = || plays(behaviour).map(ScriptedProvider::without_steering);
        (behaviour != Behaviour::Receives).then(staged)
    }

    fn start_probes(&self) -> Vec<StartProbe<Self::Provider>> {
        probes(ScriptedProvider::without_steering)
    }

    fn resuming(&self) -> Option<Resuming<Self::Provider>> {
        Some(Resuming::probe())
    }
}

struct WithoutResuming;

impl Fixture for WithoutResuming {
    type Provider = ScriptedProvider<Present, Present, Absent>;
    const REPORTS_USAGE: bool = true;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Self::Provider>> {
        let staged = || plays(behaviour).map(ScriptedProvider::without_resuming);
        (behaviour != Behaviour::FollowsUp).then(staged)
    }

    fn start_probes(&self) -> Vec<StartProbe<Self::Provider>> {
        probes(ScriptedProvider::without_resuming)
    }

    fn steering(&self) -> Option<Steering<Self::Provider>> {
        Some(Steering::probe())
    }
}

type Bare = ScriptedProvider<Absent, Absent, Absent>;

struct WithoutAnything;

impl Fixture for WithoutAnything {
    type Provider = Bare;
    const REPORTS_USAGE: bool = true;

    fn stage(&self, behaviour: Behaviour) -> Option<Staged<Bare>> {
        let bare = |full: ScriptedProvider| full.without_capabilities().without_steering().without_resuming();
        (!matches!(behaviour, Behaviour::Receives | Behaviour::FollowsUp)).then(|| plays(behaviour).map(bare))
    }
}

subagent::conformance!(
    #[tokio::test(start_paused = true)]
    with_everything,
    Everything(|scripted| scripted)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    behind_an_arc,
    Everything(Arc::new)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    without_capabilities,
    WithoutCapabilities
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    without_steering,
    WithoutSteering
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    without_resuming,
    WithoutResuming
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    without_anything,
    WithoutAnything
);
