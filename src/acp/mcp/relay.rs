use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;

use serde_json::{Value, json};

use super::token::Token;

/// The variables that tell the relay where to connect, and with what.
const ADDRESS: &str = "SUBAGENT_MCP_RELAY_ADDRESS";
const TOKEN: &str = "SUBAGENT_MCP_RELAY_TOKEN";

/// The command that connects an agent which reaches no server over HTTP with the tools it is served.
///
/// The agent starts it, once for each session, so it has to be a program that is there: `subagent-mcp-relay`, which
/// `cargo install subagent --features acp-mcp` installs, or a program of yours that calls [`run_mcp_relay`].
#[derive(Clone)]
pub struct McpRelay {
    command: PathBuf,
    arguments: Vec<String>,
}

impl McpRelay {
    /// The program at this path. Agents want an absolute one.
    pub fn new(command: impl Into<PathBuf>) -> Self {
        Self { command: command.into(), arguments: Vec::new() }
    }

    /// This program, run again with this argument: where it is given, `main` calls [`run_mcp_relay`] and nothing else.
    ///
    /// # Errors
    ///
    /// When the path of this program is not known.
    pub fn this_program(argument: impl Into<String>) -> io::Result<Self> {
        Ok(Self::new(std::env::current_exe()?).argument(argument))
    }

    /// One more argument of the command.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// The server as the protocol writes it. The token is not an argument: everybody can see those.
    pub(super) fn server(&self, name: &str, address: &SocketAddr, token: &Token) -> Value {
        json!({
            "name": name,
            "command": self.command,
            "args": self.arguments,
            "env": [
                { "name": ADDRESS, "value": address.to_string() },
                { "name": TOKEN, "value": token.as_str() },
            ],
        })
    }
}

/// Not the arguments: they may hold secrets.
impl fmt::Debug for McpRelay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpRelay").field("command", &self.command).finish_non_exhaustive()
    }
}

/// Connects the standard streams of this program with the endpoint that its environment names, until that is gone.
/// For a program that an [`McpRelay`] names: it calls this first and then ends, since a thread that reads stdin
/// cannot be stopped.
///
/// # Errors
///
/// When the environment names no endpoint, or it cannot be reached.
pub fn run_mcp_relay() -> io::Result<()> {
    let variable = |name: &str| {
        let missing = || {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!(
                    "{name} is not set: this program is started by agents that a `subagent` provider serves"
                ),
            )
        };
        std::env::var_os(name).and_then(|value: OsString| value.into_string().ok()).ok_or_else(missing)
    };
    let mut endpoint = TcpStream::connect(variable(ADDRESS)?)?;
    endpoint.set_nodelay(true)?;
    endpoint.write_all(format!("{}\n", variable(TOKEN)?).as_bytes())?;
    let mut requests = endpoint.try_clone()?;
    std::thread::spawn(move || {
        let sent = io::copy(&mut io::stdin().lock(), &mut requests);
        // The other direction ends when the endpoint has answered what it was asked.
        sent.and_then(|_| requests.shutdown(Shutdown::Write))
    });
    // Line by line: whoever reads waits for each.
    let mut answers = io::LineWriter::new(io::stdout().lock());
    io::copy(&mut endpoint, &mut answers)?;
    answers.flush()
}
