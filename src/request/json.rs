use std::fmt;
use std::time::Duration;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{Request, RequestBody, Values};
use crate::capability::{
    Capability, CapabilitySet, DepthLimit, ModelChoice, OutputSchema, OutputTokenLimit, Persona, StepLimit,
    ToolFilter, Unchecked,
};
use crate::content::ContentBlock;
use crate::error::Refused;
use crate::id::RunId;

const BUILT_IN: [&str; 7] = [
    <OutputSchema as Capability>::NAME,
    DepthLimit::NAME,
    ToolFilter::NAME,
    Persona::NAME,
    ModelChoice::NAME,
    OutputTokenLimit::NAME,
    StepLimit::NAME,
];

impl Request<Unchecked> {
    /// Gives the request its type back, so that it can be started on a typed handle.
    ///
    /// `C` must name exactly the capabilities that the request asks for, in any order, innermost `()`:
    ///
    /// ```
    /// use subagent::{DepthLimit, Request, Unchecked};
    ///
    /// let json = r#"{"prompt": "Count the words", "capabilities": {"depth-limit": 2}}"#;
    /// let request: Request<Unchecked> = serde_json::from_str(json)?;
    /// let typed: Request<(DepthLimit, ())> = request.try_into_typed()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`MismatchedCapabilities`], in a [`Refused`] with the request, when the two differ or a value is not of its capability's type.
    pub fn try_into_typed<C: CapabilitySet>(
        self,
    ) -> Result<Request<C>, Refused<MismatchedCapabilities, Self>> {
        let left_out = self.body.values.names().find(|name| !names_of::<C>().any(|listed| listed == *name));
        let checked = match left_out {
            Some(capability) => Err(MismatchedCapabilities::LeftOut { capability: capability.to_owned() }),
            None => C::check(&self.body.values),
        };
        match checked {
            Ok(()) => Ok(Request::from_body(self.body)),
            Err(error) => Err(Refused { error, value: self }),
        }
    }
}

fn names_of<C: CapabilitySet>() -> impl Iterator<Item = &'static str> {
    std::iter::successors(C::NAMES, |list| list.rest).map(|list| list.name)
}

/// A request's capabilities are not those of the type that it was to get.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MismatchedCapabilities {
    /// The type names a capability that the request does not ask for.
    #[error("the request does not ask for `{capability}`; leave it out of the type")]
    NotAsked {
        /// The capability's name.
        capability: &'static str,
    },
    /// The request asks for a capability that the type does not name.
    #[error("the request asks for `{capability}` too; add it to the type")]
    LeftOut {
        /// The capability's name.
        capability: String,
    },
    /// The value was given for another type of the same name.
    #[error(
        "the value of `{capability}` was set by a capability type of the same name but with another value type"
    )]
    OtherType {
        /// The capability's name.
        capability: &'static str,
    },
    /// The value is not of the capability's type.
    #[error("the value of `{capability}` is malformed")]
    Malformed {
        /// The capability's name.
        capability: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl MismatchedCapabilities {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAsked { .. } => "CAPABILITY_NOT_ASKED",
            Self::LeftOut { .. } => "CAPABILITY_LEFT_OUT",
            Self::OtherType { .. } => "OTHER_CAPABILITY_TYPE",
            Self::Malformed { .. } => "INVALID_VALUE",
        }
    }
}

/// The portable part of a request: all but its parent and its cancellation token.
#[derive(Serialize)]
struct Written<'a> {
    prompt: &'a [ContentBlock],
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_limit_ms: Option<u64>,
    capabilities: &'a Values,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    prompt: ReadPrompt,
    #[serde(default)]
    agent_type: Option<String>,
    #[serde(default)]
    run_id: Option<RunId>,
    #[serde(default)]
    idempotency_key: Option<String>,
    #[serde(default)]
    time_limit_ms: Option<u64>,
    #[serde(default)]
    capabilities: Values,
}

/// The portable part: prompt, agent type, ids, time limit and capabilities by name; the parent and the cancellation
/// token stay behind.
impl<Caps> Serialize for Request<Caps> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written {
            prompt: &self.body.prompt,
            agent_type: self.body.agent_type.as_deref(),
            run_id: self.body.run_id,
            idempotency_key: self.body.idempotency_key.as_deref(),
            time_limit_ms: self
                .body
                .time_limit
                .map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
            capabilities: &self.body.values,
        }
        .serialize(serializer)
    }
}

/// Unknown fields, unknown capabilities without a `/` in their name, and repeated ones are errors that name them.
/// A namespaced capability is checked when the request is started.
impl<'de> Deserialize<'de> for Request<Unchecked> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = deserializer.deserialize_map(FromObject)?;
        Ok(Self::from_body(RequestBody {
            prompt: read.prompt.0,
            agent_type: read.agent_type.map(Into::into),
            parent: None,
            run_id: read.run_id,
            idempotency_key: read.idempotency_key.map(Into::into),
            time_limit: read.time_limit_ms.map(Duration::from_millis),
            cancellation: None,
            values: read.capabilities,
        }))
    }
}

/// Objects only: derived code would take a list for the fields in their order, too.
struct FromObject;

impl<'de> Visitor<'de> for FromObject {
    type Value = Read;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a request: an object with a `prompt`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Read, A::Error> {
        Read::deserialize(serde::de::value::MapAccessDeserializer::new(map))
    }
}

/// Text, or a list of content blocks.
struct ReadPrompt(Vec<ContentBlock>);

impl<'de> Deserialize<'de> for ReadPrompt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrBlocks;
        impl<'de> Visitor<'de> for TextOrBlocks {
            type Value = ReadPrompt;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a prompt: text, or a list of content blocks")
            }

            fn visit_str<E>(self, text: &str) -> Result<ReadPrompt, E> {
                Ok(ReadPrompt(vec![text.into()]))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, blocks: A) -> Result<ReadPrompt, A::Error> {
                Vec::deserialize(serde::de::value::SeqAccessDeserializer::new(blocks)).map(ReadPrompt)
            }
        }
        deserializer.deserialize_any(TextOrBlocks)
    }
}

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ByName;
        impl<'de> Visitor<'de> for ByName {
            type Value = Values;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of capabilities by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Values, A::Error> {
                let mut values = Values::default();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if !name.contains('/') && !BUILT_IN.contains(&name.as_str()) {
                        return Err(A::Error::custom(format_args!(
                            "unknown capability {name:?}: the built-in ones are {}, and others are namespaced with a `/`",
                            BUILT_IN.join(", ")
                        )));
                    }
                    let repeated = format!("capability {name:?} is given twice");
                    if !values.push_json(name, value) {
                        return Err(A::Error::custom(repeated));
                    }
                }
                Ok(values)
            }
        }
        deserializer.deserialize_map(ByName)
    }
}
