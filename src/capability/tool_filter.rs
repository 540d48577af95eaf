use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Capability, Plain};
use crate::error::listed;

/// Which of the parent's tools the child may see and use: an allow list, a deny list, or both.
///
/// Asked for with [`Request::tool_filter`](crate::Request::tool_filter). It binds the child's descendants too.
///
/// ```
/// use subagent::ToolFilter;
///
/// let filter = ToolFilter::allow(["read", "grep"]).and(ToolFilter::deny(["grep"]));
/// assert!(filter.permits("read") && !filter.permits("grep") && !filter.permits("write"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolFilter {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    allow: Option<BTreeSet<String>>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    deny: BTreeSet<String>,
}

impl ToolFilter {
    /// These tools and no others. An empty list allows nothing, which is an error when the run starts.
    pub fn allow<T: Into<String>>(tools: impl IntoIterator<Item = T>) -> Self {
        Self { allow: Some(tools.into_iter().map(Into::into).collect()), deny: BTreeSet::new() }
    }

    /// Every tool but these.
    pub fn deny<T: Into<String>>(tools: impl IntoIterator<Item = T>) -> Self {
        Self { allow: None, deny: tools.into_iter().map(Into::into).collect() }
    }

    /// What both filters permit.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.allow = match (self.allow, other.allow) {
            (Some(one), Some(another)) => Some(one.intersection(&another).cloned().collect()),
            (one, another) => one.or(another),
        };
        self.deny.extend(other.deny);
        self
    }

    /// Whether the filter lets this tool through.
    #[must_use]
    pub fn permits(&self, tool: &str) -> bool {
        self.allow.as_ref().is_none_or(|allow| allow.contains(tool)) && !self.deny.contains(tool)
    }

    /// The tools that the filter denies by name.
    pub(crate) fn denied(&self) -> impl Iterator<Item = &str> {
        self.deny.iter().map(String::as_str)
    }

    /// Checks the filter against the tools that there are.
    ///
    /// # Errors
    ///
    /// [`UnusableFilter::UnknownTools`] when a name in the filter is not one of `known`,
    /// [`UnusableFilter::NothingAllowed`] when the filter permits none of them.
    pub fn check<'a, I: IntoIterator<Item = &'a str>>(&self, known: I) -> Result<(), UnusableFilter> {
        let known: Vec<&str> = known.into_iter().collect();
        let unknown: Vec<String> = self
            .allow
            .iter()
            .flatten()
            .chain(&self.deny)
            .filter(|name| !known.contains(&name.as_str()))
            .cloned()
            .collect();
        let names = || known.iter().map(ToString::to_string).collect();
        if !unknown.is_empty() {
            return Err(UnusableFilter::UnknownTools { unknown, known: names() });
        }
        if !known.iter().any(|name| self.permits(name)) {
            return Err(UnusableFilter::NothingAllowed { known: names() });
        }
        Ok(())
    }
}

impl Capability for ToolFilter {
    const NAME: &'static str = "tool-filter";
    const BUILT_IN: bool = true;
    type Value = Self;
    type Kind = Plain;

    fn narrow(earlier: Self, later: Self) -> Self {
        earlier.and(later)
    }
}

/// A tool filter that does not fit the tools that there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnusableFilter {
    /// The filter names tools that do not exist.
    #[error("the tool filter names unknown tools ({}); the known ones are: {}", unknown.join(", "), listed(known))]
    UnknownTools {
        /// The names that fit no tool.
        unknown: Vec<String>,
        /// The tools that there are.
        known: Vec<String>,
    },
    /// The filter leaves no tool.
    #[error("the tool filter allows no tool; name at least one of: {}", listed(known))]
    NothingAllowed {
        /// The tools that there are.
        known: Vec<String>,
    },
}

impl UnusableFilter {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::UnknownTools { .. } => "UNKNOWN_TOOLS",
            Self::NothingAllowed { .. } => "NO_TOOL_ALLOWED",
        }
    }
}
