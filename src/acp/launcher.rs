use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::time::Instant;

use super::connection::Connection;
use super::environment::Environment;
use super::error::{AcpStage, AcpStartError};
use super::mcp::{Served, Serving};
use super::process::Program;
use super::session::{Session, SessionSetup};
use super::settings::Settings;
use super::steering;

/// How a provider's agents are started.
pub(super) struct Launcher {
    pub(super) command: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) environment: Environment,
    /// The caller's; that of the parent where there is none.
    pub(super) directory: Option<PathBuf>,
    pub(super) settings: Arc<Settings>,
    pub(super) model: Option<String>,
    pub(super) mode: Option<String>,
    pub(super) serving: Serving,
}

impl Launcher {
    /// Where a child of this parent works.
    pub(super) fn directory(&self, parents: Option<&Path>) -> Result<PathBuf, AcpStartError> {
        self.directory.as_deref().or(parents).map(Path::to_owned).ok_or_else(|| {
            AcpStartError::NoWorkingDirectory { command: self.command.to_string_lossy().into_owned() }
        })
    }

    /// Starts an agent and opens a session, a new one or an earlier one. Where this fails, nothing is left.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, the agent's process group is killed at once.
    pub(super) async fn session(
        &self,
        directory: PathBuf,
        earlier: Option<&str>,
        steering: bool,
        served: Option<&Arc<Served>>,
    ) -> Result<Session, AcpStartError> {
        let limit = self.settings.start_limit;
        let deadline = Instant::now() + limit;
        let mut program = Program {
            command: self.command.clone(),
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            directory: directory.clone(),
        };
        if served.is_some() {
            Served::adjust(&mut program.environment);
        }
        let mut connection = Connection::open(&program, Arc::clone(&self.settings)).await?;
        if let Some(served) = served {
            connection.serve(served);
        }
        let connection = Arc::new(connection);
        if steering && !steering::is_offered(connection.agent()) {
            connection.close_failed().await;
            return Err(AcpStartError::NotOffered {
                command: program.name(),
                ability: "to be steered (`_meta.steering.supported` in its answer to `initialize`); build the \
                          provider without `AcpBuilder::steering`",
            });
        }
        let servers = match served {
            Some(served) => served.servers(connection.agent(), connection.command()).await,
            None => Ok(Vec::new()),
        };
        let mcp_servers = match servers {
            Ok(servers) => servers,
            Err(error) => {
                connection.close_failed().await;
                return Err(error);
            }
        };
        let setup =
            SessionSetup { directory, mcp_servers, model: self.model.clone(), mode: self.mode.clone() };
        let opening = async {
            match earlier {
                None => Session::open(Arc::clone(&connection), setup).await,
                Some(id) => Session::reopen(Arc::clone(&connection), setup, id).await,
            }
        };
        if let Ok(opened) = tokio::time::timeout_at(deadline, opening).await {
            return opened;
        }
        let diagnostics = connection.diagnostics().await;
        connection.close_failed().await;
        let stage = if earlier.is_some() { AcpStage::Reopen } else { AcpStage::NewSession };
        Err(AcpStartError::Deadline { command: program.name(), stage, limit, diagnostics })
    }
}
