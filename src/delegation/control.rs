use std::sync::Arc;

use crate::error::NoProvider;
use crate::run::{Resumable, Run, Steerable};

/// Runs for which a toolset can offer `send_message`: those that are [`Steerable`].
#[diagnostic::on_unimplemented(
    message = "a toolset with `send_message` cannot be built: run `{Self}` cannot be steered",
    label = "`{Self}` does not have the runtime capability `Steerable`",
    note = "leave `send_message()` out, or delegate to a provider whose runs implement `Steerable`",
    note = "for a provider that is known by its name, `try_send_message()` finds out at run time"
)]
pub trait TakesMessages: Run {}

#[diagnostic::do_not_recommend]
impl<R: Steerable> TakesMessages for R {}

/// Runs for which a toolset can offer `followup_agent`: those that are [`Resumable`].
#[diagnostic::on_unimplemented(
    message = "a toolset with `followup_agent` cannot be built: run `{Self}` cannot be resumed",
    label = "`{Self}` does not have the runtime capability `Resumable`",
    note = "leave `followup_agent()` out, or delegate to a provider whose runs implement `Resumable`",
    note = "for a provider that is known by its name, `try_followup_agent()` finds out at run time"
)]
pub trait TakesFollowUps: Run {}

#[diagnostic::do_not_recommend]
impl<R: Resumable> TakesFollowUps for R {}

/// A toolset for a provider that is known by its name cannot have a control.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MissingControl {
    /// The provider is not registered, so nobody knows what its runs can do.
    #[error(
        "whether `{control}` can be offered is not known before the provider is registered; register it first"
    )]
    NoProvider {
        /// The tool.
        control: &'static str,
        /// What the registry says.
        source: NoProvider,
    },
    /// The provider's runs lack the capability.
    #[error(
        "`{control}` cannot be offered: the runs of provider `{provider}` lack the runtime capability `{capability}`; \
         leave it out, or delegate to a provider that has it"
    )]
    Unsupported {
        /// The tool.
        control: &'static str,
        /// The provider's name.
        provider: Arc<str>,
        /// The runtime capability.
        capability: &'static str,
    },
}

impl MissingControl {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProvider { .. } => "NO_PROVIDER",
            Self::Unsupported { .. } => "UNSUPPORTED_CONTROL",
        }
    }
}
