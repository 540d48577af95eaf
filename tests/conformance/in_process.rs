//! `Spawn` and `Fork`, with and without steering, over models that play what the suite asks for.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use subagent::agent::{
    Agent, Message, Model, ModelError, ModelRequest, ModelStream, ToolSet, UsageLedger, tool_fn,
};
use subagent::testing::conformance::{Behaviour, Fixture, Probed, Resuming, Staged, StartProbe, Steering};
use subagent::testing::{ScriptedModel, ScriptedReply};
use subagent::{
    Absent, ContentBlock, ContentKinds, DepthLimit, Fork, ModelChoice, OutputSchema, OutputTokenLimit,
    Parent, Persona, Provider, Request, Spawn, StepLimit, StopReason, Supports, ToolFilter,
};
use tokio_util::sync::CancellationToken;

/// A model that counts the calls under way: a child is alive as long as one of its calls is.
struct Counted {
    model: ScriptedModel,
    calls: Arc<AtomicUsize>,
}

struct UnderWay(Arc<AtomicUsize>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Model for Counted {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let call = UnderWay(Arc::clone(&self.calls));
        ModelStream::new(self.model.stream(request).inspect(move |_event| {
            let _under_way = &call;
        }))
    }

    fn content_kinds(&self) -> ContentKinds {
        self.model.content_kinds()
    }

    fn has_response_format(&self) -> bool {
        self.model.has_response_format()
    }
}

/// What a provider is set up with.
struct Setup {
    model: Option<Counted>,
    another: ScriptedModel,
    tools: ToolSet,
}

/// `Spawn` or `Fork`, with or without steering.
trait InProcess: Provider + Sized {
    fn set_up(setup: Setup) -> Self;
    fn children(&self) -> usize;
    /// Whom its children work for: an agent on this model.
    fn parent(model: Arc<dyn Model>) -> Parent;
}

macro_rules! in_process {
    ($provider:ty, $builder:expr, $steering:expr, $parent:expr) => {
        impl InProcess for $provider {
            fn set_up(setup: Setup) -> Self {
                let builder = $builder.model(setup.another).tools(setup.tools);
                #[cfg(feature = "jsonschema")]
                let builder = builder.validate_schemas();
                $steering(match setup.model {
                    Some(model) => builder.default_model(model),
                    None => builder,
                })
                .build()
            }

            fn children(&self) -> usize {
                self.sessions().len()
            }

            fn parent(model: Arc<dyn Model>) -> Parent {
                $parent(model)
            }
        }
    };
}

/// An agent that has not completed a turn.
fn agent(model: Arc<dyn Model>) -> Parent {
    let agent = Agent::builder(model).build();
    Parent::from(&agent.as_caller(CancellationToken::new(), UsageLedger::new()))
}

/// An agent that the seam knows nothing of.
fn stranger(_model: Arc<dyn Model>) -> Parent {
    Parent::new("agent", "session")
}

in_process!(Spawn, Spawn::builder(), std::convert::identity, stranger);
in_process!(Spawn<Absent>, Spawn::builder(), subagent::SpawnBuilder::without_steering, stranger);
in_process!(Fork, Fork::builder(), std::convert::identity, agent);
in_process!(Fork<Absent>, Fork::builder(), subagent::ForkBuilder::without_steering, agent);

struct Children<P>(PhantomData<fn() -> P>);

fn says(text: &str) -> ScriptedReply {
    ScriptedReply::new().text(text).usage(3, 5)
}

fn calls(tool: &str) -> ScriptedReply {
    ScriptedReply::new().delay(Duration::from_millis(5)).tool_call("", tool, json!({}))
}

fn model(behaviour: Behaviour) -> ScriptedModel {
    let text = behaviour.text();
    let model = ScriptedModel::new().reading(ContentKinds::ALL);
    match behaviour {
        Behaviour::Completes => model.then_always(says(text)),
        Behaviour::Streams => {
            model.then_always(ScriptedReply::new().text(&text[..4]).text(&text[4..]).hang())
        }
        Behaviour::Fails => {
            model.then_always(ScriptedReply::new().error(ModelError::other("the model said no")))
        }
        Behaviour::Panics => model.then_always(ScriptedReply::new().panic()),
        // It calls a tool that waits for a moment, until it has seen all messages.
        Behaviour::Receives => model.then_always_with(move |request| {
            let told =
                request.messages().iter().filter(|message| matches!(message, Message::User { .. })).count();
            if told > Behaviour::MESSAGES { says(text) } else { calls("read") }
        }),
        Behaviour::FollowsUp => model.reply(says(text)).then_always(says(behaviour.follow_up_text())),
        _ => model.then_always(ScriptedReply::new().hang()),
    }
}

/// The tools that were called, and how deep the tree may grow below.
type Noted = Arc<Mutex<Vec<Call>>>;
type Call = (&'static str, Option<u32>);

/// Tools that note their calls.
fn tools(noted: &Noted) -> ToolSet {
    ["read", "write"].into_iter().fold(ToolSet::new(), |tools, name| {
        let noted = Arc::clone(noted);
        let tool = tool_fn(name, "Notes its call.", json!({ "type": "object" }), move |_, context| {
            noted.lock().unwrap().push((name, context.agent.max_depth()));
            async move { name }
        });
        tools.with(tool).unwrap()
    })
}

/// What the model was told in its last call.
fn told(model: &ScriptedModel) -> Vec<Vec<ContentBlock>> {
    let Some(request) = model.requests().pop() else { return Vec::new() };
    request
        .messages()
        .into_iter()
        .filter_map(|message| match message {
            Message::User { content, .. } => Some(content.to_vec()),
            _ => None,
        })
        .collect()
}

fn staged<P: InProcess>(
    model: Option<&ScriptedModel>,
    another: ScriptedModel,
    noted: &Noted,
) -> Staged<Arc<P>> {
    let under_way = Arc::new(AtomicUsize::new(0));
    let counted = || model.map(|model| Counted { model: model.clone(), calls: Arc::clone(&under_way) });
    let parent = match counted() {
        Some(model) => P::parent(Arc::new(model)),
        None => Parent::new("agent", "session"),
    };
    let provider = Arc::new(P::set_up(Setup { model: counted(), another, tools: tools(noted) }));
    let (counts, tells) = (Arc::clone(&provider), model.cloned());
    Staged::new(provider, move || counts.children() + under_way.load(Ordering::SeqCst))
        .parent(parent)
        .sees(move || tells.as_ref().map(told).unwrap_or_default())
}

/// A provider that honours what `check` sees in the last request to its model, in the outcome and in the tool calls.
fn honours<P: InProcess>(
    model: &ScriptedModel,
    check: fn(&ModelRequest, &subagent::Outcome, &[Call]) -> bool,
) -> Probed<Arc<P>> {
    let noted = Noted::default();
    let another = model.clone().named("small");
    let asked = [model.clone(), another.clone()];
    staged::<P>(Some(model), another, &noted).honours(move |outcome| {
        let request = asked.iter().find_map(|model| model.requests().pop());
        let calls = noted.lock().unwrap().clone();
        match request {
            Some(request) if check(&request, outcome, &calls) => Ok(()),
            other => Err(format!(
                "the model was asked {other:?}, the tools {calls:?}; the outcome was {outcome:?}"
            )),
        }
    })
}

fn probes<P>() -> Vec<StartProbe<Arc<P>>>
where
    P: InProcess
        + Supports<OutputSchema>
        + Supports<DepthLimit>
        + Supports<ToolFilter>
        + Supports<Persona>
        + Supports<ModelChoice>
        + Supports<OutputTokenLimit>
        + Supports<StepLimit>,
{
    let two = NonZeroU32::MIN.saturating_add(1);
    let done = || ScriptedModel::new().then_always(says("done"));
    vec![
        StartProbe::new(Request::output::<BTreeMap<String, u32>>, || {
            let model = ScriptedModel::new().with_response_format().then_always(says(r#"{"n": 1}"#));
            honours::<P>(&model, |request, outcome, _| {
                request.response_format.is_some() && outcome.structured == Some(json!({ "n": 1 }))
            })
        }),
        StartProbe::new(
            |request| request.max_depth(2),
            || {
                let model = ScriptedModel::new().reply(calls("read")).then_always(says("done"));
                honours::<P>(&model, |_, _, calls| calls == [("read", Some(2))])
            },
        ),
        StartProbe::new(
            |request| request.tool_filter(ToolFilter::allow(["read"])),
            || {
                let model = ScriptedModel::new().reply(calls("write")).then_always(says("done"));
                honours::<P>(&model, |request, _, calls| {
                    request.tools.names().eq(["read"]) && calls.is_empty()
                })
            },
        ),
        StartProbe::new(
            |request| request.persona("terse"),
            move || {
                honours::<P>(&done(), |request, _, _| {
                    request.system_prompt.as_deref().is_some_and(|all| all.contains("terse"))
                })
            },
        ),
        StartProbe::new(
            |request| request.model("small"),
            move || {
                // The models are clones of one, so what tells them apart is the usage.
                honours::<P>(&done(), |_, outcome, _| {
                    outcome.usage.own.iter().all(|used| used.model.as_deref() == Some("small"))
                })
            },
        ),
        StartProbe::new(
            move |request| request.max_output_tokens(two),
            move || honours::<P>(&done(), |request, _, _| request.max_output_tokens == NonZeroU32::new(2)),
        ),
        StartProbe::new(
            move |request| request.max_steps(two),
            || {
                let model = ScriptedModel::new().then_always(calls("read"));
                honours::<P>(&model, |_, outcome, _| outcome.stop_reason == StopReason::TurnLimit)
            },
        ),
    ]
}

const CANNOT: [(Behaviour, &str); 5] = [
    (Behaviour::IgnoresCancel, "the loop drops what does not listen"),
    (Behaviour::PanicsInStart, "its start runs nothing that could panic"),
    (Behaviour::HangsInStart, "its start does not wait"),
    (Behaviour::SettlesInStart, "its children settle on tasks of their own"),
    (Behaviour::FailsToDispose, "the end of a task cannot fail"),
];

fn stage<P: InProcess>(behaviour: Behaviour) -> Option<Staged<Arc<P>>> {
    let shown = !CANNOT.iter().any(|(cannot, _)| *cannot == behaviour);
    let model = Some(model(behaviour)).filter(|_| behaviour != Behaviour::FailsToStart);
    shown.then(|| staged(model.as_ref(), ScriptedModel::new().named("small"), &Noted::default()))
}

macro_rules! fixture {
    ($provider:ty, $steering:expr, $can_steer:expr) => {
        impl Fixture for Children<$provider> {
            type Provider = Arc<$provider>;
            const REPORTS_USAGE: bool = true;

            fn stage(&self, behaviour: Behaviour) -> Option<Staged<Self::Provider>> {
                stage(behaviour).filter(|_| $can_steer || behaviour != Behaviour::Receives)
            }

            fn cannot_show(&self) -> Vec<(Behaviour, &'static str)> {
                CANNOT.to_vec()
            }

            fn start_probes(&self) -> Vec<StartProbe<Self::Provider>> {
                probes()
            }

            fn steering(&self) -> Option<Steering<Self::Provider>> {
                $steering
            }

            fn resuming(&self) -> Option<Resuming<Self::Provider>> {
                Some(Resuming::probe())
            }
        }
    };
}

fixture!(Spawn, Some(Steering::probe()), true);
fixture!(Fork, Some(Steering::probe()), true);
fixture!(Spawn<Absent>, None, false);
fixture!(Fork<Absent>, None, false);

subagent::conformance!(
    #[tokio::test(start_paused = true)]
    spawn,
    Children::<Spawn>(PhantomData)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    fork,
    Children::<Fork>(PhantomData)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    spawn_without_steering,
    Children::<Spawn<Absent>>(PhantomData)
);
subagent::conformance!(
    #[tokio::test(start_paused = true)]
    fork_without_steering,
    Children::<Fork<Absent>>(PhantomData)
);
