use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Why an ACP child could not be started, or its session not be opened again. Nothing is left running.
///
/// Commands are quoted without their arguments, and what the child wrote without known secrets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcpStartError {
    /// Nobody said where the child is to work.
    #[error(
        "the ACP agent `{command}` has no working directory; give the provider one with \
         `AcpBuilder::working_dir`, or the parent with `Parent::with_working_dir`"
    )]
    #[non_exhaustive]
    NoWorkingDirectory {
        /// The command.
        command: String,
    },
    /// The child's working directory cannot be used.
    #[error("the working directory {} cannot be used: {reason}", directory.display())]
    #[non_exhaustive]
    WorkingDirectory {
        /// The directory.
        directory: PathBuf,
        /// What it has to be.
        reason: &'static str,
        /// What the system said, where it was asked.
        source: Option<io::Error>,
    },
    /// A variable that [`EnvPolicy::pass`](super::EnvPolicy::pass) names is not set in this process.
    #[error(
        "the environment variable {name} is to be passed to the child but is not set here; set it, or do not pass it"
    )]
    #[non_exhaustive]
    PassedVariableNotSet {
        /// Its name.
        name: String,
    },
    /// The program could not be started.
    #[error("the ACP agent `{command}` cannot be started; is it installed and on the child's PATH?")]
    #[non_exhaustive]
    Spawn {
        /// The command.
        command: String,
        /// What the system said.
        source: io::Error,
    },
    /// The program ended, or closed its output, before its session was open.
    #[error("the ACP agent `{command}` went away during {stage}: {diagnostics}{}", first_contact(*stage))]
    #[non_exhaustive]
    Gone {
        /// The command.
        command: String,
        /// What was asked of it.
        stage: AcpStage,
        /// How it went and what it wrote.
        diagnostics: Box<AcpDiagnostics>,
    },
    /// The session was not open in time.
    #[error("the ACP agent `{command}` did not finish {stage} within {limit:?}{}{}", after(diagnostics), first_contact(*stage))]
    #[non_exhaustive]
    Deadline {
        /// The command.
        command: String,
        /// What was asked of it.
        stage: AcpStage,
        /// The deadline.
        limit: Duration,
        /// What it wrote.
        diagnostics: Box<AcpDiagnostics>,
    },
    /// The agent speaks another version of the protocol.
    #[error("the ACP agent `{command}` speaks protocol version {version}; version 1 is needed")]
    #[non_exhaustive]
    ProtocolVersion {
        /// The command.
        command: String,
        /// What it answered.
        version: String,
    },
    /// The agent wants a login first.
    #[error(
        "the ACP agent `{command}` asks for a login ({}); {}",
        list(methods, "it names no way"),
        withheld_advice(withheld)
    )]
    #[non_exhaustive]
    LoginRequired {
        /// The command.
        command: String,
        /// The ways to log in that it offers.
        methods: Vec<String>,
        /// Names of the variables that the environment policy held back.
        withheld: Vec<String>,
    },
    /// The agent answered with an error.
    #[error("the ACP agent `{command}` refused {stage}: {answer}{}{}", after(diagnostics), first_contact(*stage))]
    #[non_exhaustive]
    Refused {
        /// The command.
        command: String,
        /// What was asked of it.
        stage: AcpStage,
        /// The error it answered with.
        answer: AcpAgentError,
        /// What it wrote.
        diagnostics: Box<AcpDiagnostics>,
    },
    /// The agent's answer lacks what it must have.
    #[error("the answer of the ACP agent `{command}` to {stage} cannot be used: {problem}")]
    #[non_exhaustive]
    Malformed {
        /// The command.
        command: String,
        /// What was asked of it.
        stage: AcpStage,
        /// What is wrong with it.
        problem: String,
    },
    /// The agent cannot do this.
    #[error("the ACP agent `{command}` does not offer {ability}")]
    #[non_exhaustive]
    NotOffered {
        /// The command.
        command: String,
        /// What was needed.
        ability: &'static str,
    },
    /// The agent takes no MCP server in a way that there is.
    #[error(
        "the ACP agent `{command}` cannot be served tools: it takes no MCP server over HTTP \
         (`agentCapabilities.mcpCapabilities.http` in its answer to `initialize`), and no relay is named; name one \
         with `AcpBuilder::relay`"
    )]
    #[non_exhaustive]
    NoMcpTransport {
        /// The command.
        command: String,
    },
    /// The endpoint that the agent is served tools by could not be opened.
    #[error("no port on loopback can be opened to serve the ACP agent its tools")]
    #[non_exhaustive]
    McpEndpoint {
        /// What the system said.
        source: io::Error,
    },
    /// The agent does not know this model or mode.
    #[error("the ACP agent `{command}` offers no {category} {value:?}; it offers {}", list(known, "none"))]
    #[non_exhaustive]
    UnknownChoice {
        /// The command.
        command: String,
        /// `model` or `mode`.
        category: String,
        /// What was asked for.
        value: String,
        /// What it offers.
        known: Vec<String>,
    },
}

impl AcpStartError {
    /// A word for the kind of error, for programs; it does not change between releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoWorkingDirectory { .. } => "NO_WORKING_DIRECTORY",
            Self::WorkingDirectory { .. } => "WORKING_DIRECTORY",
            Self::PassedVariableNotSet { .. } => "PASSED_VARIABLE_NOT_SET",
            Self::Spawn { .. } => "SPAWN",
            Self::Gone { .. } => "GONE",
            Self::Deadline { .. } => "DEADLINE",
            Self::ProtocolVersion { .. } => "PROTOCOL_VERSION",
            Self::LoginRequired { .. } => "LOGIN_REQUIRED",
            Self::Refused { .. } => "REFUSED",
            Self::Malformed { .. } => "MALFORMED",
            Self::NotOffered { .. } => "NOT_OFFERED",
            Self::NoMcpTransport { .. } => "NO_MCP_TRANSPORT",
            Self::McpEndpoint { .. } => "MCP_ENDPOINT",
            Self::UnknownChoice { .. } => "UNKNOWN_CHOICE",
        }
    }
}

/// Why an [`Acp`](super::Acp) provider was not built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AcpBuildError {
    /// The command has no name.
    #[error(
        "the command of an ACP agent is empty; name the program, by its path or as it is found on the PATH"
    )]
    NoCommand,
    /// The working directory is not an absolute path.
    #[error("the working directory {} is not absolute; what it is relative to is for the caller to say", directory.display())]
    #[non_exhaustive]
    RelativeDirectory {
        /// The directory.
        directory: PathBuf,
    },
    /// A variable that no program can be given.
    #[error(
        "the environment variable {name:?} cannot be set: its name must not be empty or hold `=`, \
         and neither name nor value may hold a NUL"
    )]
    #[non_exhaustive]
    InvalidVariable {
        /// Its name.
        name: String,
    },
    /// A time limit or grace that no timer should be given.
    #[error("{what} is {given:?}; at most {longest:?} is possible")]
    #[non_exhaustive]
    TimeOutOfRange {
        /// Which one.
        what: &'static str,
        /// What it was set to.
        given: Duration,
        /// The longest possible.
        longest: Duration,
    },
}

impl AcpBuildError {
    /// A word for the kind of error, for programs; it does not change between releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoCommand => "NO_COMMAND",
            Self::RelativeDirectory { .. } => "RELATIVE_DIRECTORY",
            Self::InvalidVariable { .. } => "INVALID_VARIABLE",
            Self::TimeOutOfRange { .. } => "TIME_OUT_OF_RANGE",
        }
    }
}

/// Why an ACP child did not take a message while it worked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcpSteerError {
    /// The agent answered with an error.
    #[error("the ACP agent `{command}` refused the message: {answer}")]
    #[non_exhaustive]
    Refused {
        /// The command.
        command: String,
        /// The error it answered with.
        answer: AcpAgentError,
    },
    /// The agent's answer does not say that the message reached the turn.
    #[error("the ACP agent `{command}` did not take the message: it answered {outcome:?}, not \"injected\"")]
    #[non_exhaustive]
    NotInjected {
        /// The command.
        command: String,
        /// What it answered.
        outcome: String,
    },
    /// The turn ended, or the agent went away, before it answered; whether it took the message is not known.
    #[error("the ACP agent `{command}` did not say whether it took the message")]
    #[non_exhaustive]
    Unanswered {
        /// The command.
        command: String,
    },
}

impl AcpSteerError {
    /// A word for the kind of error, for programs; it does not change between releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "REFUSED",
            Self::NotInjected { .. } => "NOT_INJECTED",
            Self::Unanswered { .. } => "UNANSWERED",
        }
    }
}

/// Why the end of an ACP child could not be seen.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AcpDisposeError {
    /// Processes of the child's group outlived SIGKILL.
    #[error("processes of the ACP agent `{command}` outlived SIGKILL: {processes:?}")]
    #[non_exhaustive]
    Survivors {
        /// The command.
        command: String,
        /// Their process ids.
        processes: Vec<i32>,
    },
}

impl AcpDisposeError {
    /// A word for the kind of error, for programs; it does not change between releases.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Survivors { .. } => "SURVIVORS",
        }
    }
}

/// What was asked of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AcpStage {
    /// `initialize`
    Initialize,
    /// `session/new`
    NewSession,
    /// `session/resume` or `session/load`
    Reopen,
    /// `session/set_config_option`, `session/set_mode` or `session/set_model`
    Configure,
    /// `session/prompt`
    Prompt,
    /// A request of an extension.
    Extension,
}

impl fmt::Display for AcpStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Initialize => "the handshake",
            Self::NewSession => "the opening of a session",
            Self::Reopen => "the reopening of its session",
            Self::Configure => "the choice of a session option",
            Self::Prompt => "a prompt",
            Self::Extension => "a request of an extension",
        })
    }
}

/// An error that an agent answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcpAgentError {
    /// The JSON-RPC error code.
    pub code: i64,
    /// The message, with what its data adds.
    pub message: String,
}

impl fmt::Display for AcpAgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

/// What is known about an agent that misbehaved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcpDiagnostics {
    /// How its connection ended, if it did.
    pub ended: Option<String>,
    /// The last lines it wrote on stderr.
    pub stderr: Vec<String>,
    /// The first and last lines it wrote on stdout that are not the protocol's.
    pub noise: Vec<String>,
    /// How many such lines there were.
    pub noise_lines: u64,
}

impl fmt::Display for AcpDiagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut known: Vec<String> = self.ended.iter().cloned().collect();
        if !self.stderr.is_empty() {
            known.push(format!("its last lines on stderr: {}", self.stderr.join(" | ")));
        }
        if !self.noise.is_empty() {
            known.push(format!(
                "{} of its lines on stdout are not JSON-RPC: {}",
                self.noise_lines,
                self.noise.join(" | ")
            ));
        }
        f.write_str(&known.join("; "))
    }
}

/// What is known, after a text that stands without it.
pub(super) fn after(diagnostics: &AcpDiagnostics) -> String {
    let known = diagnostics.to_string();
    if known.is_empty() { known } else { format!("; {known}") }
}

/// What to look at when a program does not even answer the first request.
fn first_contact(stage: AcpStage) -> &'static str {
    match stage {
        AcpStage::Initialize => "; does this command speak ACP, or does it need an argument for that?",
        _ => "",
    }
}

fn list(words: &[String], none: &str) -> String {
    if words.is_empty() { none.to_owned() } else { words.join(", ") }
}

fn withheld_advice(withheld: &[String]) -> String {
    if withheld.is_empty() {
        "log it in before it is used as a child, or set the credential it needs for it".to_owned()
    } else {
        format!(
            "these variables were held back from it, and can be passed with `EnvPolicy::pass`: {}",
            withheld.join(", ")
        )
    }
}

#[cfg(test)]
mod tests;
