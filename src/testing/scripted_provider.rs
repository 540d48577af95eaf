use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use super::scripted_run::{Child, ScriptedRun, Structured};
use super::{Script, script::Step};
use crate::capability::{
    Capability, DepthLimit, ModelChoice, OutputSchema, OutputTokenLimit, Persona, StepLimit, ToolFilter,
};
use crate::content::{ContentBlock, ContentKinds, Output};
use crate::error::StartError;
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::run::{Absent, Presence, Present, Settlement};
use crate::sync::lock;

/// A provider that plays scripts instead of running an agent.
///
/// Each start and each resumption plays the next script; the last one is played again. As it comes, it supports
/// every start-time capability and its runs can be steered and resumed; the three type parameters say whether it
/// does, and `without_…` takes something away.
///
/// ```
/// use subagent::testing::ScriptedProvider;
/// use subagent::{Request, Subagents};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let provider = ScriptedProvider::replying("42");
/// let log = provider.log();
/// let subagents = Subagents::new();
/// let scripted = subagents.register("scripted", provider)?;
///
/// let run = scripted.start(Request::new("What is the answer?")).await?;
/// assert_eq!(run.collect().await.into_result()?.text(), "42");
/// assert_eq!(log.requests()[0].prompt, "What is the answer?");
/// assert_eq!(log.live_children(), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ScriptedProvider<Start = Present, Steer = Present, Resume = Present> {
    scripts: Arc<Scripts>,
    structured: Option<Value>,
    content: ContentKinds,
    has: PhantomData<Has<Start, Steer, Resume>>,
}

type Has<Start, Steer, Resume> = fn() -> (Start, Steer, Resume);

crate::supports!([Start: Presence, Steer: Presence, Resume: Presence] ScriptedProvider<Start, Steer, Resume>:
    OutputSchema if Start,
    DepthLimit if Start,
    ToolFilter if Start,
    Persona if Start,
    ModelChoice if Start,
    OutputTokenLimit if Start,
    StepLimit if Start,
);

impl ScriptedProvider {
    /// Plays this script.
    #[must_use]
    pub fn new(script: Script) -> Self {
        Self::playing([script])
    }

    /// Plays these scripts, one a start or resumption; the last one again and again.
    #[must_use]
    pub fn playing(scripts: impl IntoIterator<Item = Script>) -> Self {
        Self {
            scripts: Arc::new(Scripts {
                in_order: scripts.into_iter().collect(),
                played: AtomicUsize::new(0),
                log: ScriptedLog::default(),
            }),
            structured: None,
            content: ContentKinds::TEXT,
            has: PhantomData,
        }
    }

    /// Completes with this output.
    #[must_use]
    pub fn replying(output: impl Into<Output>) -> Self {
        Self::new(Script::new().complete(output))
    }
}

impl<Start, Steer, Resume> ScriptedProvider<Start, Steer, Resume> {
    /// The structured value of completed runs that were asked for one; `{"reply": <the output's text>}` otherwise.
    #[must_use]
    pub fn with_structured(mut self, value: Value) -> Self {
        self.structured = Some(value);
        self
    }

    /// The kinds of content that it carries; text alone otherwise.
    #[must_use]
    pub fn with_content(mut self, kinds: ContentKinds) -> Self {
        self.content = kinds;
        self
    }

    /// The same, without start-time capabilities.
    #[must_use]
    pub fn without_capabilities(self) -> ScriptedProvider<Absent, Steer, Resume> {
        self.has()
    }

    /// The same, with runs that cannot be steered.
    #[must_use]
    pub fn without_steering(self) -> ScriptedProvider<Start, Absent, Resume> {
        self.has()
    }

    /// The same, with runs that cannot be resumed.
    #[must_use]
    pub fn without_resuming(self) -> ScriptedProvider<Start, Steer, Absent> {
        self.has()
    }

    /// What happens to this provider, to look at while it is registered.
    #[must_use]
    pub fn log(&self) -> ScriptedLog {
        self.scripts.log.clone()
    }

    fn has<A, B, C>(self) -> ScriptedProvider<A, B, C> {
        ScriptedProvider {
            scripts: self.scripts,
            structured: self.structured,
            content: self.content,
            has: PhantomData,
        }
    }
}

impl<Start: Presence, Steer: Presence, Resume: Presence> Provider for ScriptedProvider<Start, Steer, Resume> {
    type Run = ScriptedRun<Steer, Resume>;

    async fn start(
        &self,
        mut request: StartRequest,
        settlement: Settlement,
    ) -> Result<Self::Run, StartError> {
        let structured = match (request.take::<OutputSchema>(), &self.structured) {
            (None, _) => Structured::NotAsked,
            (Some(_), None) => Structured::Reply,
            (Some(_), Some(value)) => Structured::Configured(value.clone()),
        };
        self.scripts.log.record(&mut request);
        let (script, child) =
            (self.scripts.next(), Child::new(Arc::clone(&self.scripts), structured, settlement));
        let child = child.play_in_start(&script).await.map_err(StartError::failed)?;
        Ok(ScriptedRun::new(child, script))
    }

    fn content(&self) -> ContentKinds {
        self.content
    }
}

/// The scripts of one provider, and what happened.
#[derive(Debug)]
pub(super) struct Scripts {
    in_order: Vec<Script>,
    played: AtomicUsize,
    pub(super) log: ScriptedLog,
}

impl Scripts {
    pub(super) fn next(&self) -> Script {
        let at = self.played.fetch_add(1, Ordering::Relaxed).min(self.in_order.len().saturating_sub(1));
        self.in_order.get(at).cloned().unwrap_or_default()
    }
}

/// What happened to a [`ScriptedProvider`]. Cheap to clone; all clones show the same.
#[derive(Debug, Clone, Default)]
pub struct ScriptedLog(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
pub(super) struct Seen {
    requests: Vec<SeenRequest>,
    pub(super) messages: Vec<Vec<ContentBlock>>,
    pub(super) live: usize,
    pub(super) disposals: usize,
}

/// A request as a [`ScriptedProvider`] received it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SeenRequest {
    /// The run's id.
    pub run_id: crate::RunId,
    /// The text of the prompt.
    pub prompt: String,
    /// The kind of agent, as the caller names it.
    pub agent_type: Option<String>,
    /// The child's depth.
    pub depth: u32,
    /// Who delegates.
    pub parent: Option<crate::Parent>,
    /// The values of the capabilities, by name.
    pub capabilities: BTreeMap<&'static str, Value>,
}

impl ScriptedLog {
    /// The requests whose start the provider was called for.
    #[must_use]
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.with(|seen| seen.requests.clone())
    }

    /// The messages and follow-ups that children have seen.
    #[must_use]
    pub fn messages(&self) -> Vec<Vec<ContentBlock>> {
        self.with(|seen| seen.messages.clone())
    }

    /// How many children exist now.
    #[must_use]
    pub fn live_children(&self) -> usize {
        self.with(|seen| seen.live)
    }

    /// How many runs were disposed of.
    #[must_use]
    pub fn disposals(&self) -> usize {
        self.with(|seen| seen.disposals)
    }

    pub(super) fn with<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut lock(&self.0))
    }

    fn record(&self, request: &mut StartRequest) {
        let mut capabilities = BTreeMap::new();
        let mut note = |name, value: Option<Value>| {
            if let Some(value) = value {
                capabilities.insert(name, value);
            }
        };
        note(<OutputSchema as Capability>::NAME, taken::<OutputSchema>(request));
        note(DepthLimit::NAME, taken::<DepthLimit>(request));
        note(ToolFilter::NAME, taken::<ToolFilter>(request));
        note(Persona::NAME, taken::<Persona>(request));
        note(ModelChoice::NAME, taken::<ModelChoice>(request));
        note(OutputTokenLimit::NAME, taken::<OutputTokenLimit>(request));
        note(StepLimit::NAME, taken::<StepLimit>(request));
        let seen = SeenRequest {
            run_id: request.run_id(),
            prompt: request.prompt_text(),
            agent_type: request.agent_type().map(str::to_owned),
            depth: request.depth(),
            parent: request.parent().cloned(),
            capabilities,
        };
        self.with(|log| log.requests.push(seen));
    }
}

fn taken<C: Capability>(request: &mut StartRequest) -> Option<Value> {
    request.take::<C>().and_then(|value| serde_json::to_value(value).ok())
}

/// Whether a step ends a script.
pub(super) fn ends(step: &Step) -> bool {
    matches!(step, Step::Settle(_) | Step::LoseSettlement | Step::Panic(_) | Step::Fail(_))
}
