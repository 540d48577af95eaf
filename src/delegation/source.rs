use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::capability::{CapabilitySet, NoOutput, SatisfiedBy};
use crate::content::ContentBlock;
use crate::erased::AnyRun;
use crate::error::{StartError, contain};
use crate::id::RunId;
use crate::parent::Parent;
use crate::provider::Provider;
use crate::registry::{Hub, ProviderHandle, Subagents};
use crate::request::Request;
use crate::run::{Live, Run, Start};

/// A child to start, as a call asks for it.
pub(super) struct Task {
    pub(super) prompt: Vec<ContentBlock>,
    pub(super) parent: Parent,
    pub(super) id: RunId,
    pub(super) cancellation: CancellationToken,
}

/// A start under way, and what is known of the child before.
pub(super) struct Starting {
    pub(super) agent_type: Option<String>,
    pub(super) start: BoxFuture<'static, Result<Live<AnyRun, NoOutput>, StartError>>,
}

/// Where children come from: one provider, with what every request to it is configured with.
pub(super) trait Source: Send + Sync {
    fn provider(&self) -> &str;
    /// `None` while it is not registered.
    fn sees_conversation(&self) -> Option<bool>;
    fn hub(&self) -> Arc<Hub>;
    fn start(&self, task: Task) -> Result<Starting, String>;
}

/// A provider by its type.
pub(super) struct ByType<P: Provider, F> {
    pub(super) provider: ProviderHandle<P>,
    pub(super) configure: F,
}

/// A provider by its name: whether it is there, and can do what is asked, is found out at each call.
pub(super) struct ByName<F> {
    pub(super) subagents: Subagents,
    pub(super) name: Arc<str>,
    pub(super) configure: F,
}

impl<P: Provider, F, C> Source for ByType<P, F>
where
    F: Fn(Request) -> Request<C> + Send + Sync,
    C: CapabilitySet + SatisfiedBy<P>,
{
    fn provider(&self) -> &str {
        self.provider.name()
    }

    fn sees_conversation(&self) -> Option<bool> {
        self.provider.is_registered().then(|| self.provider.sees_conversation())
    }

    fn hub(&self) -> Arc<Hub> {
        Arc::clone(self.provider.hub())
    }

    fn start(&self, task: Task) -> Result<Starting, String> {
        Ok(starting(self.provider.start(request(&self.configure, task)?)))
    }
}

impl<F, C> Source for ByName<F>
where
    F: Fn(Request) -> Request<C> + Send + Sync,
    C: CapabilitySet,
{
    fn provider(&self) -> &str {
        &self.name
    }

    fn sees_conversation(&self) -> Option<bool> {
        self.subagents.get(&self.name).ok().map(|provider| provider.sees_conversation())
    }

    fn hub(&self) -> Arc<Hub> {
        Arc::clone(self.subagents.hub())
    }

    fn start(&self, task: Task) -> Result<Starting, String> {
        Ok(starting(self.subagents.start(&self.name, request(&self.configure, task)?)))
    }
}

/// What the configuration asks for, and over it what only the call knows.
fn request<C: CapabilitySet>(
    configure: &impl Fn(Request) -> Request<C>,
    task: Task,
) -> Result<Request<C>, String> {
    let configured = contain(|| configure(Request::new(task.prompt)))
        .map_err(|message| format!("The tool's configuration panicked: {message}"))?;
    Ok(configured.parent(&task.parent).run_id(task.id).cancellation(task.cancellation))
}

fn starting<R: Run, O: 'static>(start: Start<R, O>) -> Starting {
    let agent_type = start.agent_type().as_deref().map(str::to_owned);
    let start = start.map(|started| started.map(|live| live.erase().without_output_type())).boxed();
    Starting { agent_type, start }
}
