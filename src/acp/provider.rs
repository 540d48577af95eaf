use std::ffi::OsString;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::builder::AcpBuilder;
use super::child::Child;
use super::launcher::Launcher;
use super::run::AcpRun;
use crate::content::{ContentKind, ContentKinds};
use crate::error::StartError;
use crate::provider::Provider;
use crate::request::StartRequest;
use crate::run::{Absent, Presence, Settlement, first_uncarried};

/// A provider whose children are other programs that speak the Agent Client Protocol: one process each.
///
/// It supports no start-time capability: there is none that a foreign program can be made to keep. Its runs are
/// [`Resumable`](crate::Resumable), and [`Steerable`](crate::Steerable) if it was built with
/// [`steering`](AcpBuilder::steering), which the type parameter says.
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
pub struct Acp<Steer = Absent> {
    launcher: Arc<Launcher>,
    steer: PhantomData<fn() -> Steer>,
}

crate::supports!([Steer: Presence] Acp<Steer>:);

impl Acp {
    /// A provider that runs this command, which is looked up in the child's own search path.
    pub fn builder(command: impl Into<OsString>) -> AcpBuilder {
        AcpBuilder::new(command.into())
    }
}

impl<Steer> Acp<Steer> {
    pub(super) fn new(launcher: Launcher) -> Self {
        Self { launcher: Arc::new(launcher), steer: PhantomData }
    }
}

impl<Steer: Presence> Provider for Acp<Steer> {
    type Run = AcpRun<Steer>;

    async fn start(&self, request: StartRequest, settlement: Settlement) -> Result<Self::Run, StartError> {
        let directory = self.launcher.directory(request.working_dir()).map_err(StartError::failed)?;
        let cancellation = settlement.cancellation();
        let opened = tokio::select! {
            biased;
            () = cancellation.cancelled() => return Err(StartError::failed("cancelled before its session was open")),
            opened = self.launcher.session(directory.clone(), None, Steer::PRESENT) => opened,
        };
        let session = opened.map_err(StartError::failed)?;
        let carried = session.content();
        if let Some((index, kind)) = first_uncarried(request.prompt(), carried) {
            session.connection().close_failed().await;
            return Err(StartError::unsupported_content(kind, index, carried));
        }
        let (launcher, prompt) = (Arc::clone(&self.launcher), request.prompt().to_vec());
        Ok(AcpRun::new(Child::begin(launcher, directory, session, prompt, settlement)))
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
impl<Steer> fmt::Debug for Acp<Steer> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acp").field("command", &self.launcher.command).finish_non_exhaustive()
    }
}
