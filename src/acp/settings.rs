use std::time::Duration;

use super::error::AcpBuildError;
use super::permission::PermissionPolicy;
use super::process::EndGraces;

/// How a provider treats its agents.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// What the agent is told about who drives it.
    pub(crate) client_name: String,
    pub(crate) permissions: PermissionPolicy,
    /// From the start of the program until its session is open.
    pub(crate) start_limit: Duration,
    /// Without any update; a decision of ours that the agent waits for does not count.
    pub(crate) idle_limit: Option<Duration>,
    pub(crate) turn_limit: Option<Duration>,
    /// From a cancel until the group is killed.
    pub(crate) cancel_limit: Duration,
    pub(crate) graces: EndGraces,
    /// In bytes.
    pub(crate) longest_line: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            client_name: "subagent".to_owned(),
            permissions: PermissionPolicy::default(),
            start_limit: Duration::from_mins(1),
            idle_limit: None,
            turn_limit: None,
            cancel_limit: Duration::from_secs(5),
            graces: EndGraces::default(),
            longest_line: 64 << 20,
        }
    }
}

impl Settings {
    /// Refuses times that no timer should be given.
    pub(crate) fn check(&self) -> Result<(), AcpBuildError> {
        let longest = EndGraces::LONGEST;
        self.graces.check()?;
        let limits = [
            ("the start limit", Some(self.start_limit)),
            ("the idle limit", self.idle_limit),
            ("the turn limit", self.turn_limit),
            ("the cancel limit", Some(self.cancel_limit)),
        ];
        for (what, given) in limits {
            if let Some(given) = given.filter(|given| *given > longest) {
                return Err(AcpBuildError::TimeOutOfRange { what, given, longest });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_no_timer_should_be_given_is_refused_by_name() {
        assert!(Settings::default().check().is_ok());
        let mut settings = Settings::default();
        settings.graces.terminate = Duration::MAX;
        let refused = settings.check().unwrap_err();
        assert!(refused.to_string().contains("the grace after SIGTERM"), "{refused}");
        let settings = Settings { turn_limit: Some(Duration::MAX), ..Settings::default() };
        assert_eq!(settings.check().unwrap_err().code(), "TIME_OUT_OF_RANGE");
    }
}
