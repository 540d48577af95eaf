//! The providers that are put to the test, one kind each: a child that works for a few turns of the runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use subagent::agent::{
    AssistantMessage, Message, MessageOrigin, SessionEventKind, SessionHeader, SessionWriter, ToolSet,
    UserMessage, tool_fn,
};
use subagent::testing::{Script, ScriptedProvider, ScriptedReply};
use subagent::{
    ChildContext, Fork, Inbox, Outcome, Parent, Provider, ProviderFn, Request, SessionId, Spawn, StopReason,
    Update, provider_fn, steerable_provider_fn,
};

/// How long one wait of a child is: virtual time where the clock is paused, real time elsewhere.
pub(crate) const STEP: Duration = Duration::from_millis(1);

/// A kind of provider.
pub(crate) trait Kind: 'static {
    type Provider: Provider;

    /// The provider; what its children have of their own is counted in `living`.
    fn provider(living: &Living) -> Self::Provider;

    fn request() -> Request {
        Request::new("work")
    }

    /// What its children have beside that.
    fn children(_provider: &Self::Provider) -> usize {
        0
    }
}

/// How many parts of children exist.
#[derive(Clone, Default)]
pub(crate) struct Living(Arc<AtomicUsize>);

impl Living {
    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn one_more(&self) -> Part {
        self.0.fetch_add(1, Ordering::SeqCst);
        Part(Arc::clone(&self.0))
    }
}

/// A part of a child: a task's stack, a tool call.
pub(crate) struct Part(Arc<AtomicUsize>);

impl Drop for Part {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

pub(crate) struct Scripted;

impl Kind for Scripted {
    type Provider = ScriptedProvider;

    fn provider(_living: &Living) -> ScriptedProvider {
        let script = Script::new().wait(STEP).text("…").wait(STEP).in_start();
        ScriptedProvider::new(script.wait(STEP).text("so far").wait(STEP).complete("done").slow_dispose(STEP))
    }

    fn children(_provider: &ScriptedProvider) -> usize {
        0
    }
}

type Child = Pin<Box<dyn Future<Output = Outcome> + Send>>;

pub(crate) struct Closure;

impl Kind for Closure {
    type Provider = ProviderFn<Box<dyn Fn(ChildContext) -> Child + Send + Sync>>;

    fn provider(living: &Living) -> Self::Provider {
        let living = living.clone();
        provider_fn(Box::new(move |context: ChildContext| {
            let part = living.one_more();
            Box::pin(async move {
                let _part = part;
                tokio::time::sleep(STEP).await;
                context.progress.report(Update::text("so far"));
                tokio::time::sleep(STEP).await;
                Outcome::completed("done")
            }) as Child
        }) as _)
    }
}

pub(crate) struct SteerableClosure;

impl Kind for SteerableClosure {
    type Provider = ProviderFn<Box<dyn Fn(ChildContext, Inbox) -> Child + Send + Sync>, subagent::Present>;

    fn provider(living: &Living) -> Self::Provider {
        let living = living.clone();
        steerable_provider_fn(Box::new(move |_context: ChildContext, mut inbox: Inbox| {
            let part = living.one_more();
            Box::pin(async move {
                let _part = part;
                tokio::time::sleep(STEP).await;
                while let Some(message) = inbox.try_recv() {
                    drop(message);
                }
                tokio::time::sleep(STEP).await;
                Outcome::completed("done")
            }) as Child
        }) as _)
    }
}

/// Uses its tool once, then answers.
struct Model;

impl subagent::agent::Model for Model {
    fn name(&self) -> &'static str {
        "model"
    }

    fn stream(&self, request: subagent::agent::ModelRequest) -> subagent::agent::ModelStream {
        let reply = match request.messages().last() {
            Some(Message::ToolResults { .. }) => ScriptedReply::new().delay(STEP).text("done"),
            _ => ScriptedReply::new().text("so far").delay(STEP).tool_call("", "work", json!({})),
        };
        let model = subagent::testing::ScriptedModel::new().reply(reply);
        subagent::agent::Model::stream(&model, request)
    }
}

fn tools(living: &Living) -> ToolSet {
    let living = living.clone();
    let work = tool_fn("work", "Works.", json!({"type": "object"}), move |_, _| {
        let part = living.one_more();
        async move {
            let _part = part;
            tokio::time::sleep(STEP).await;
            "worked"
        }
    });
    ToolSet::new().with(work).unwrap()
}

pub(crate) struct Spawned;

impl Kind for Spawned {
    type Provider = Spawn;

    fn provider(living: &Living) -> Spawn {
        Spawn::builder().default_model(Model).tools(tools(living)).build()
    }

    fn children(provider: &Spawn) -> usize {
        provider.sessions().len()
    }
}

pub(crate) struct Forked;

impl Kind for Forked {
    type Provider = Fork;

    fn provider(living: &Living) -> Fork {
        Fork::builder().default_model(Model).tools(tools(living)).build()
    }

    fn request() -> Request {
        let mut log = SessionWriter::new(SessionHeader::new(SessionId::new()));
        for event in [
            SessionEventKind::TurnStart,
            SessionEventKind::User(UserMessage::new(MessageOrigin::Prompt, vec!["Who are you?".into()])),
            SessionEventKind::StepStart,
            SessionEventKind::Assistant(AssistantMessage::new("Ada.")),
            SessionEventKind::StepEnd { usage: Vec::new() },
            SessionEventKind::TurnEnd { reason: StopReason::Completed },
        ] {
            log.append(event).unwrap();
        }
        Request::new("work").parent(&Parent::new("agent", "session").with_log(log.session().clone()))
    }

    fn children(provider: &Fork) -> usize {
        provider.sessions().len()
    }
}
