use std::sync::Arc;

use super::listed;

/// A provider could not be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The name is taken.
    #[error(
        "a provider named `{name}` is registered already; choose another name, or unregister that one first"
    )]
    DuplicateProvider {
        /// The name.
        name: Arc<str>,
    },
    /// The name is empty, or begins or ends with white space, or holds a character that cannot be seen.
    #[error(
        "{name:?} is not a provider name; use visible text without white space around it, for example `spawn`"
    )]
    InvalidName {
        /// The name.
        name: Arc<str>,
    },
    /// The subagents are shut down.
    #[error("the subagents are shut down; register on a new `Subagents`")]
    ShutDown,
}

impl RegisterError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::DuplicateProvider { .. } => "DUPLICATE_PROVIDER",
            Self::InvalidName { .. } => "INVALID_NAME",
            Self::ShutDown => "SHUT_DOWN",
        }
    }
}

/// No provider of this name, or none of the type asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoProvider {
    /// Nothing is registered under the name.
    #[error("no provider is named `{name}`{}; the known ones are: {}", gone(*dropped), listed(known))]
    Unknown {
        /// The name asked for.
        name: String,
        /// Whether a provider of this name was registered not long ago, and its registration was dropped or undone.
        dropped: bool,
        /// The names that are registered.
        known: Vec<Arc<str>>,
    },
    /// What is registered under the name is of another type.
    #[error("provider `{name}` is a `{found}`, not a `{wanted}`; ask for it by its own type, or with `get`")]
    OtherType {
        /// The name asked for.
        name: String,
        /// The type that was asked for.
        wanted: &'static str,
        /// The type that is registered.
        found: &'static str,
    },
}

impl NoProvider {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "NO_PROVIDER",
            Self::OtherType { .. } => "OTHER_PROVIDER_TYPE",
        }
    }
}

fn gone(dropped: bool) -> &'static str {
    if dropped {
        " (its registration was dropped; keep the `Registration`, or call `leave_registered`)"
    } else {
        ""
    }
}
