use std::ffi::OsString;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::builder::AcpBuilder;
use super::child::Child;
use super::launcher::Launcher;
use super::mcp::Served;
use super::run::AcpRun;
use crate::capability::{Capabilities, CapabilityEntry, Declares, OutputSchema, Supports};
use crate::content::{ContentKind, ContentKinds};
use crate::error::StartError;
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::run::{Absent, Presence, Present, Settlement, first_uncarried};

/// A provider whose children are other programs that speak the Agent Client Protocol: one process each.
///
/// It supports [`OutputSchema`] if it was built with `structured` (feature `acp-mcp`), and no other start-time
/// capability: there is none that a foreign program can be made to keep. Its runs are
/// [`Resumable`](crate::Resumable), and [`Steerable`](crate::Steerable) if it was built with
/// [`steering`](AcpBuilder::steering). The type parameters say both.
///
/// ```no_run
/// use subagent::acp::{Acp, EnvPolicy, PermissionPolicy};
/// use subagent::{Request, Subagents};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let gemini = Acp::builder("gemini")
///     .argument("--experimental-acp")
///     .environment(EnvPolicy::scrubbed().pass("GEMINI_API_KEY"))
///     .permissions(PermissionPolicy::allow())
///     .working_dir("/srv/project")
///     .build()?;
///
/// let subagents = Subagents::new();
/// let gemini = subagents.register("gemini", gemini)?;
/// let run = gemini.start(Request::new("Why does the build fail?")).await?;
/// println!("{}", run.collect().await.into_result()?.text());
/// # Ok(())
/// # }
/// ```
pub struct Acp<Steer = Absent, Output = Absent> {
    launcher: Arc<Launcher>,
    types: PhantomData<fn() -> (Steer, Output)>,
}

impl<Steer: Presence, Output: ServesOutput, T> Supports<OutputSchema<T>> for Acp<Steer, Output> {}

// Not by `supports!`: the condition has words of its own.
impl<Steer: Presence, Output: Presence> Declares for Acp<Steer, Output> {
    const CAPABILITIES: Capabilities =
        Capabilities::list(const { &[CapabilityEntry::of::<OutputSchema>(Output::PRESENT)] });
}

/// The provider was built with `structured()`.
#[diagnostic::on_unimplemented(
    message = "provider `Acp` does not support the start-time capability `OutputSchema`",
    label = "`Acp` supports `OutputSchema` only if it was built with `structured()`",
    note = "build the provider with `Acp::builder(…).structured()` (feature `acp-mcp`), or leave `OutputSchema` out of \
            the request"
)]
#[expect(unnameable_types, reason = "a condition that is only for the compiler to explain")]
pub trait ServesOutput: Presence {}

impl ServesOutput for Present {}

impl Acp {
    /// A provider that runs this command, which is looked up in the child's own search path.
    pub fn builder(command: impl Into<OsString>) -> AcpBuilder {
        AcpBuilder::new(command.into())
    }
}

impl<Steer, Output> Acp<Steer, Output> {
    pub(super) fn new(launcher: Launcher) -> Self {
        Self { launcher: Arc::new(launcher), types: PhantomData }
    }
}

impl<Steer: Presence, Output: Presence> Provider for Acp<Steer, Output> {
    type Run = AcpRun<Steer>;

    async fn start(
        &self,
        mut request: StartRequest,
        settlement: Settlement,
    ) -> Result<Self::Run, StartError> {
        let directory = self.launcher.directory(request.working_dir()).map_err(StartError::failed)?;
        let served = Served::of(&self.launcher.serving, &mut request, Output::PRESENT)?;
        let cancellation = settlement.cancellation();
        let opened = tokio::select! {
            biased;
            () = cancellation.cancelled() => return Err(StartError::failed("cancelled before its session was open")),
            opened = self.launcher.session(directory.clone(), None, Steer::PRESENT, served.as_ref()) => opened,
        };
        let session = opened.map_err(StartError::failed)?;
        let carried = session.content();
        if let Some((index, kind)) = first_uncarried(request.prompt(), carried) {
            session.connection().close_failed().await;
            return Err(StartError::unsupported_content(kind, index, carried));
        }
        let (launcher, prompt) = (Arc::clone(&self.launcher), request.prompt().to_vec());
        Ok(AcpRun::new(Child::begin(launcher, directory, session, served, prompt, settlement)))
    }

    /// All that the protocol has a form for. What an agent takes of it, it says when it is started; a prompt with
    /// something else is refused then.
    fn content(&self) -> ContentKinds {
        ContentKinds::TEXT
            .with(ContentKind::Image)
            .with(ContentKind::Audio)
            .with(ContentKind::ResourceLink)
            .with(ContentKind::Resource)
    }
}

/// Not the arguments: they may hold secrets.
impl<Steer, Output> fmt::Debug for Acp<Steer, Output> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acp").field("command", &self.launcher.command).finish_non_exhaustive()
    }
}
