use std::fmt;

use serde_json::Value;

use super::{Capability, CapabilityNames};
use crate::error::contain;

/// What a provider supports, for checks at run time. Only [`supports!`](crate::supports) writes it, together with
/// the [`Supports`](super::Supports) impls.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say which start-time capabilities it supports",
    label = "`supports!` is missing",
    note = "write `subagent::supports!({Self}: DepthLimit, ToolFilter);`, or `subagent::supports!({Self}:);` where there are none"
)]
pub trait Declares {
    /// The capabilities that the provider supports.
    const CAPABILITIES: Capabilities;
}

/// A list of start-time capabilities, in the order in which a provider declares them.
#[derive(Clone, Copy)]
pub struct Capabilities(List);

#[derive(Clone, Copy)]
enum List {
    Declared(&'static [CapabilityEntry]),
    Both(&'static Capabilities, &'static Capabilities),
}

impl Capabilities {
    /// No capabilities.
    pub const NONE: Self = Self(List::Declared(&[]));

    #[doc(hidden)]
    #[must_use]
    pub const fn list(declared: &'static [CapabilityEntry]) -> Self {
        Self(List::Declared(declared))
    }

    /// The capabilities that both lists hold.
    #[doc(hidden)]
    #[must_use]
    pub const fn both(first: &'static Self, second: &'static Self) -> Self {
        Self(List::Both(first, second))
    }

    /// Whether the capability of this name is supported.
    #[must_use]
    pub const fn contains(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The names, in the order declared.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let all = *self;
        let mut list = all;
        let entries = loop {
            match list.0 {
                List::Declared(entries) => break entries,
                List::Both(first, _) => list = *first,
            }
        };
        entries.iter().map(|entry| entry.name).filter(move |name| all.contains(name))
    }

    /// Whether all of `names` are supported.
    #[must_use]
    pub const fn covers(&self, mut names: Option<&CapabilityNames>) -> bool {
        while let Some(list) = names {
            if !self.contains(list.name) {
                return false;
            }
            names = list.rest;
        }
        true
    }

    pub(crate) const fn find(&self, name: &str) -> Option<&'static CapabilityEntry> {
        match self.0 {
            List::Both(first, second) => {
                if second.contains(name) {
                    first.find(name)
                } else {
                    None
                }
            }
            List::Declared(entries) => {
                let mut at = 0;
                while at < entries.len() {
                    if entries[at].present && same(entries[at].name, name) {
                        return Some(&entries[at]);
                    }
                    at += 1;
                }
                None
            }
        }
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// The names, or "none".
impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = self.names();
        match names.next() {
            None => f.write_str("none"),
            Some(first) => {
                f.write_str(first)?;
                names.try_for_each(|name| write!(f, ", {name}"))
            }
        }
    }
}

/// One capability that a provider declares; made by [`supports!`](crate::supports).
#[derive(Clone, Copy)]
pub struct CapabilityEntry {
    pub(crate) name: &'static str,
    pub(crate) present: bool,
    pub(crate) check: fn(&Value) -> Result<(), serde_json::Error>,
}

impl CapabilityEntry {
    /// The entry of `C`, present or not.
    #[doc(hidden)]
    #[must_use]
    pub const fn of<C: Capability>(present: bool) -> Self {
        assert_namespaced::<C>();
        Self { name: C::NAME, present, check: |value| check_value::<C>(value) }
    }
}

impl fmt::Debug for CapabilityEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CapabilityEntry")
            .field("name", &self.name)
            .field("present", &self.present)
            .finish_non_exhaustive()
    }
}

/// Whether a value is of the capability's type. Its `Deserialize` is foreign code, whose panic is an error like another.
pub(crate) fn check_value<C: Capability>(value: &Value) -> Result<(), serde_json::Error> {
    contain(|| <C::Value as serde::Deserialize>::deserialize(value).map(drop)).unwrap_or_else(|message| {
        Err(serde::de::Error::custom(format_args!("reading it panicked: {message}")))
    })
}

/// Stops the build where a capability that is not built in has a name that a built-in one could have.
pub(crate) const fn assert_namespaced<C: Capability>() {
    let name = C::NAME.as_bytes();
    let mut namespaced = C::BUILT_IN;
    let mut at = 1;
    while at + 1 < name.len() {
        namespaced |= name[at] == b'/';
        at += 1;
    }
    assert!(
        namespaced,
        "the `NAME` of this start-time capability has no namespace: write, for example, \"acme/gpu-quota\"; \
         names without a `/` are kept for the built-in capabilities"
    );
}

/// String equality in a `const`.
const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
