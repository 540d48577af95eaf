use std::ffi::OsString;
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::environment::{EnvPolicy, Environment};
use super::error::AcpBuildError;
use super::launcher::Launcher;
#[cfg(feature = "acp-mcp")]
use super::mcp::McpRelay;
use super::mcp::Serving;
use super::permission::PermissionPolicy;
use super::provider::Acp;
use super::settings::Settings;
#[cfg(feature = "acp-mcp")]
use crate::agent::ToolSet;
use crate::run::{Absent, Presence, Present};

/// Builds an [`Acp`] provider; made by [`Acp::builder`].
///
/// Only the command is needed. The rest is as strict as an agent that nobody vouched for deserves: no credentials of
/// this process, every permission refused.
#[must_use = "a builder does nothing until `build` is called"]
pub struct AcpBuilder<Steer = Absent, Output = Absent> {
    command: OsString,
    arguments: Vec<OsString>,
    environment: Environment,
    directory: Option<PathBuf>,
    settings: Settings,
    model: Option<String>,
    mode: Option<String>,
    serving: Serving,
    types: PhantomData<fn() -> (Steer, Output)>,
}

impl AcpBuilder {
    pub(super) fn new(command: OsString) -> Self {
        Self {
            command,
            arguments: Vec::new(),
            environment: Environment::default(),
            directory: None,
            settings: Settings::default(),
            model: None,
            mode: None,
            serving: Serving::default(),
            types: PhantomData,
        }
    }
}

impl<Output: Presence> AcpBuilder<Absent, Output> {
    /// Demands that the agent can be steered, so that the runs are [`Steerable`](crate::Steerable). Steering is an
    /// extension of the protocol (`_session/steering`): a start fails on an agent that does not advertise it.
    ///
    /// Where it is not demanded, a run can still be asked, with
    /// [`into_steerable`](crate::Live::into_steerable).
    pub fn steering(self) -> AcpBuilder<Present, Output> {
        self.retyped()
    }
}

#[cfg(feature = "acp-mcp")]
impl<Steer: Presence> AcpBuilder<Steer> {
    /// Serves children a tool that delivers the value that a request asks for, so that the provider supports
    /// [`OutputSchema`](crate::OutputSchema).
    ///
    /// The tool is served over the Model Context Protocol, by an endpoint on loopback for each child. A start with
    /// such a request fails on an agent that takes no MCP server over HTTP, unless a [`relay`](AcpBuilder::relay) is
    /// named. The child may call this one tool whatever the [permission policy](AcpBuilder::permissions) says.
    ///
    /// A value that does not fit goes back to the child with the reason, as often as
    /// [`output_retries`](AcpBuilder::output_retries) allows. The first one that fits counts. A child that ends its
    /// turn without one is reminded once; then the run ends with [`Error`](crate::StopReason::Error).
    pub fn structured(self) -> AcpBuilder<Steer, Present> {
        self.retyped()
    }
}

#[cfg(feature = "acp-mcp")]
impl<Steer: Presence> AcpBuilder<Steer, Present> {
    /// How often a value that does not fit goes back to the child; 2 times otherwise.
    pub fn output_retries(mut self, retries: u32) -> Self {
        self.serving.retries = retries;
        self
    }

    /// Checks values against the whole schema, too. Requests whose schema is a JSON value need this.
    #[cfg(feature = "jsonschema")]
    pub fn validate_schemas(mut self) -> Self {
        self.serving.validate_schemas = true;
        self
    }
}

impl<Steer: Presence, Output: Presence> AcpBuilder<Steer, Output> {
    /// One more argument of the command.
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// More arguments of the command.
    pub fn arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Which variables of this process a child gets; [`EnvPolicy::scrubbed`] otherwise.
    pub fn environment(mut self, policy: EnvPolicy) -> Self {
        self.environment.policy = policy;
        self
    }

    /// A variable that is set for the child, whatever the policy says.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.set.insert(name.into(), value.into());
        self
    }

    /// The directory that children work in, an absolute path; that of the parent otherwise. Where neither is set a
    /// start fails: a child never falls back to the directory of this process.
    pub fn working_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.directory = Some(path.into());
        self
    }

    /// What a child is answered that asks for permission; [`PermissionPolicy::reject`] otherwise.
    pub fn permissions(mut self, policy: PermissionPolicy) -> Self {
        self.settings.permissions = policy;
        self
    }

    /// How long it may take from the start of the program until its session is open; 60 s otherwise.
    pub fn start_limit(mut self, limit: Duration) -> Self {
        self.settings.start_limit = limit;
        self
    }

    /// How long a turn may go on without an update from the agent; no limit otherwise. While the agent waits for a
    /// decision about a permission, this does not count.
    pub fn idle_limit(mut self, limit: Duration) -> Self {
        self.settings.idle_limit = Some(limit);
        self
    }

    /// How long a turn may take; no limit otherwise.
    pub fn turn_limit(mut self, limit: Duration) -> Self {
        self.settings.turn_limit = Some(limit);
        self
    }

    /// How long a cancelled agent may take to end its turn before its process group is killed; 5 s otherwise.
    pub fn cancel_limit(mut self, limit: Duration) -> Self {
        self.settings.cancel_limit = limit;
        self
    }

    /// When a child is ended: how long from the end of its stdin to SIGTERM; 6 s otherwise.
    pub fn stdin_end_grace(mut self, grace: Duration) -> Self {
        self.settings.graces.stdin_end = grace;
        self
    }

    /// When a child is ended: how long from SIGTERM to SIGKILL; 3 s otherwise.
    pub fn terminate_grace(mut self, grace: Duration) -> Self {
        self.settings.graces.terminate = grace;
        self
    }

    /// The longest line that is read from the agent, in bytes; 64 MiB otherwise. A longer one ends the connection.
    pub fn longest_line(mut self, bytes: usize) -> Self {
        self.settings.longest_line = bytes;
        self
    }

    /// The name that agents are told of who drives them; `subagent` otherwise.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.settings.client_name = name.into();
        self
    }

    /// The model that sessions use, by the agent's name for it. A start fails on an agent that does not offer it.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// The mode that sessions are in, by the agent's name for it. A start fails on an agent that does not offer it.
    pub fn mode(mut self, name: impl Into<String>) -> Self {
        self.mode = Some(name.into());
        self
    }

    /// The command that connects agents which take no MCP server over HTTP with what they are served; none otherwise.
    #[cfg(feature = "acp-mcp")]
    pub fn relay(mut self, relay: McpRelay) -> Self {
        self.serving.relay = Some(relay);
        self
    }

    /// Offers children these tools of this program, which run here, as calls of an agent at the child's depth: a tool
    /// that delegates is bound by all that binds the parent's descendants. No tool is offered otherwise.
    ///
    /// They are served as the tool of [`structured`](AcpBuilder::structured) is. Whether a child may call one is
    /// for the [permission policy](AcpBuilder::permissions) to say, where the agent asks. A call that runs is
    /// cancelled with the run, and what calls left at work in the background is stopped when the run ends. Until then
    /// a child is told of what has ended there with the result of its next call.
    #[cfg(feature = "acp-mcp")]
    pub fn tools(mut self, tools: ToolSet) -> Self {
        self.serving.tools = tools;
        self
    }

    /// The provider.
    ///
    /// # Errors
    ///
    /// [`AcpBuildError`] for a command without a name, a working directory that is not absolute, a limit or grace of
    /// more than a day, and a variable that no program can be given.
    pub fn build(self) -> Result<Acp<Steer, Output>, AcpBuildError> {
        if self.command.is_empty() {
            return Err(AcpBuildError::NoCommand);
        }
        if let Some(directory) = self.directory.as_ref().filter(|path| !path.is_absolute()) {
            return Err(AcpBuildError::RelativeDirectory { directory: directory.clone() });
        }
        self.settings.check()?;
        self.environment.check()?;
        Ok(Acp::new(Launcher {
            command: self.command,
            arguments: self.arguments,
            environment: self.environment,
            directory: self.directory,
            settings: Arc::new(self.settings),
            model: self.model,
            mode: self.mode,
            serving: self.serving,
        }))
    }

    fn retyped<S, O>(self) -> AcpBuilder<S, O> {
        AcpBuilder {
            command: self.command,
            arguments: self.arguments,
            environment: self.environment,
            directory: self.directory,
            settings: self.settings,
            model: self.model,
            mode: self.mode,
            serving: self.serving,
            types: PhantomData,
        }
    }
}

/// Not the arguments: they may hold secrets.
impl<Steer, Output> fmt::Debug for AcpBuilder<Steer, Output> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcpBuilder")
            .field("command", &self.command)
            .field("environment", &self.environment)
            .field("directory", &self.directory)
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
