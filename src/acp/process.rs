//! A child program in a process group of its own: started clean, ended rung by rung, gone completely.
//!
//! Linux is what the tests run on. macOS shares the code and is untried. Elsewhere only the program itself is
//! ended, not what it started; Windows would need a job object here, and is untried.

mod directory;
mod end;
mod exit;
mod group;
#[cfg(unix)]
mod members;
mod stderr;
#[cfg(unix)]
mod watchdog;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::{ChildStdin, ChildStdout, Command};

use super::environment::Environment;
use super::error::AcpStartError;
use super::redact::Redactor;

pub(crate) use end::{EndGraces, Survivors};
pub(crate) use exit::Exit;
pub(crate) use group::ProcessGroup;
pub(crate) use stderr::StderrTail;

/// What to run.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) command: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Environment,
    pub(crate) directory: PathBuf,
}

/// A program that was started. Dropping it kills its whole group at once.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) guard: GroupGuard,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: StderrTail,
    pub(crate) redactor: Redactor,
    /// Names of the variables that the environment policy held back.
    pub(crate) withheld: Vec<String>,
}

impl Program {
    /// The command as an error may show it: without arguments, which may hold secrets.
    pub(crate) fn name(&self) -> String {
        self.command.to_string_lossy().into_owned()
    }

    /// Starts the program. Everything that can be checked is checked before anything is spawned.
    pub(crate) fn spawn(&self) -> Result<Process, AcpStartError> {
        directory::check(&self.directory)?;
        let environment = self.environment.resolve(std::env::vars_os())?;
        let mut command = Command::new(&self.command);
        command
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env_clear()
            .envs(&environment.variables)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        command.process_group(0);
        #[cfg(not(unix))]
        command.kill_on_drop(true);
        let mark = group::Mark::new();
        command.env(mark.variable(), "1");
        let mut child =
            command.spawn().map_err(|source| AcpStartError::Spawn { command: self.name(), source })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // From here on the group has an owner.
        let guard = GroupGuard(Arc::new(ProcessGroup::new(child, mark)));
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(AcpStartError::Spawn {
                command: self.name(),
                source: std::io::Error::other("its standard streams are not piped"),
            });
        };
        Ok(Process {
            guard,
            stdin,
            stdout,
            stderr: StderrTail::follow(stderr),
            redactor: environment.redactor,
            withheld: environment.withheld,
        })
    }
}

/// Owns a process group: dropping it kills the group at once, with or without a runtime.
#[derive(Debug)]
pub(crate) struct GroupGuard(Arc<ProcessGroup>);

impl GroupGuard {
    pub(crate) fn group(&self) -> &Arc<ProcessGroup> {
        &self.0
    }

    /// Ends the group rung by rung, after its stdin was closed.
    ///
    /// # Cancel safety
    ///
    /// Dropped half way, it kills the group at once.
    pub(crate) async fn end(self, graces: EndGraces) -> Result<Exit, Survivors> {
        end::end(&self.0, graces).await
    }
}

impl Drop for GroupGuard {
    fn drop(&mut self) {
        self.0.kill_now();
    }
}
