use std::fmt;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{AnyOutput, Capability, OutputKind};

/// A structured value of type `T` as the run's output.
///
/// Asked for with [`Request::output`](crate::Request::output) (the schema comes from the type) or
/// [`Request::output_schema`](crate::Request::output_schema) (a JSON value), once. A provider that declares
/// `OutputSchema` supports it for every `T`, and a bound is `Supports<OutputSchema>`, without one.
///
/// The model of an in-process child delivers the value by calling a tool named `deliver_result`, whose arguments are the
/// value, unless it [has a response format](crate::agent::Model::has_response_format) of its own.
pub struct OutputSchema<T = AnyOutput>(PhantomData<fn() -> T>);

impl<T> fmt::Debug for OutputSchema<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OutputSchema")
    }
}

impl<T: DeserializeOwned + 'static> Capability for OutputSchema<T> {
    const NAME: &'static str = "output-schema";
    const BUILT_IN: bool = true;
    type Value = Schema;
    type Kind = OutputKind<T>;

    fn narrow(_earlier: Schema, later: Schema) -> Schema {
        later
    }
}

/// A JSON Schema for a run's structured output.
#[derive(Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Schema(Value);

impl Schema {
    /// The schema of this JSON value.
    ///
    /// # Errors
    ///
    /// [`NotASchema`] when the value is neither an object nor a boolean.
    pub fn new(value: Value) -> Result<Self, NotASchema> {
        if value.is_object() || value.is_boolean() { Ok(Self(value)) } else { Err(NotASchema) }
    }

    /// The schema of `T`.
    #[cfg(feature = "typed-output")]
    #[must_use]
    pub fn of<T: schemars::JsonSchema>() -> Self {
        Self(schemars::schema_for!(T).to_value())
    }

    /// The schema as a JSON value.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.0)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

/// The value is not a JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a JSON Schema is an object (or `true` or `false`), for example {{\"type\": \"object\"}}")]
#[non_exhaustive]
pub struct NotASchema;

impl NotASchema {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "NOT_A_SCHEMA"
    }
}
