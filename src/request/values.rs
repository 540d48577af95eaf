use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::ser::{Error as _, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::MismatchedCapabilities;
use crate::capability::{Capabilities, Capability, check_value};
use crate::error::contain;

/// The capabilities that a request asks for, with their values, in the order asked.
#[derive(Clone, Default)]
#[expect(unnameable_types, reason = "only a hidden method of a sealed trait takes it")]
pub struct Values {
    entries: Vec<Entry>,
    /// A capability that a request has once was asked for twice, where the compiler could not tell.
    twice: Option<&'static str>,
}

#[derive(Clone)]
struct Entry {
    name: Cow<'static, str>,
    value: AskedValue,
}

#[derive(Clone)]
enum AskedValue {
    Typed(Arc<dyn ErasedValue>),
    Json(Value),
}

impl Values {
    pub(super) fn ask<C: Capability>(&mut self, later: C::Value) {
        match self.entries.iter_mut().find(|entry| entry.name == C::NAME) {
            None => self.entries.push(Entry { name: C::NAME.into(), value: AskedValue::typed::<C>(later) }),
            Some(entry) => {
                let narrowed = match entry.value.read::<C>() {
                    Some(earlier) => C::narrow(earlier, later),
                    None => later,
                };
                entry.value = AskedValue::typed::<C>(narrowed);
            }
        }
    }

    pub(super) fn ask_once<C: Capability>(&mut self, value: C::Value) {
        if self.contains(C::NAME) {
            self.twice = Some(C::NAME);
        }
        self.ask::<C>(value);
    }

    pub(super) fn push_json(&mut self, name: String, value: Value) -> bool {
        let new = !self.contains(&name);
        if new {
            self.entries.push(Entry { name: name.into(), value: AskedValue::Json(value) });
        }
        new
    }

    pub(crate) fn read<C: Capability>(&self) -> Option<C::Value> {
        self.entries.iter().find(|entry| entry.name == C::NAME)?.value.read::<C>()
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    pub(crate) fn asked_twice(&self) -> Option<&'static str> {
        self.twice
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| &*entry.name)
    }

    /// The names, each with whether it was taken: not yet.
    pub(crate) fn untaken(&self) -> Vec<(Cow<'static, str>, bool)> {
        self.entries.iter().map(|entry| (entry.name.clone(), false)).collect()
    }

    /// The first name that is not in `supported`.
    pub(crate) fn first_unmet(&self, supported: &Capabilities) -> Option<&str> {
        self.names().find(|name| !supported.contains(name))
    }

    /// The first value that came as JSON and is not of the type that `supported` gives it.
    pub(crate) fn first_malformed(&self, supported: &Capabilities) -> Option<(&str, serde_json::Error)> {
        self.entries.iter().find_map(|entry| match &entry.value {
            AskedValue::Typed(_) => None,
            AskedValue::Json(value) => {
                let error = (supported.find(&entry.name)?.check)(value).err()?;
                Some((&*entry.name, error))
            }
        })
    }

    pub(crate) fn check<C: Capability>(&self) -> Result<(), MismatchedCapabilities> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == C::NAME) else {
            return Err(MismatchedCapabilities::NotAsked { capability: C::NAME });
        };
        match &entry.value {
            AskedValue::Typed(value) if value.as_any().is::<C::Value>() => Ok(()),
            AskedValue::Typed(_) => Err(MismatchedCapabilities::OtherType { capability: C::NAME }),
            AskedValue::Json(value) => check_value::<C>(value)
                .map_err(|source| MismatchedCapabilities::Malformed { capability: C::NAME, source }),
        }
    }
}

impl AskedValue {
    fn typed<C: Capability>(value: C::Value) -> Self {
        Self::Typed(Arc::new(value))
    }

    fn read<C: Capability>(&self) -> Option<C::Value> {
        match self {
            Self::Typed(value) => value.as_any().downcast_ref().cloned(),
            Self::Json(value) => contain(|| serde::Deserialize::deserialize(value).ok()).ok().flatten(),
        }
    }
}

impl Serialize for Values {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entries.len()))?;
        for entry in &self.entries {
            let value = match &entry.value {
                AskedValue::Typed(value) => &value.to_json().map_err(S::Error::custom)?,
                AskedValue::Json(value) => value,
            };
            map.serialize_entry(&entry.name, value)?;
        }
        map.end()
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

trait ErasedValue: Send + Sync {
    fn as_any(&self) -> &dyn Any;
    fn to_json(&self) -> Result<Value, serde_json::Error>;
}

impl<V: Serialize + Send + Sync + 'static> ErasedValue for V {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn to_json(&self) -> Result<Value, serde_json::Error> {
        serde_json::to_value(self)
    }
}
