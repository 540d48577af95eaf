use std::fmt;
use std::sync::Arc;

use serde_json::Value;

#[cfg(feature = "jsonschema")]
use super::validator::{UnusableSchema, Validator};
use super::wrapped::WrappedSchema;
#[cfg(feature = "jsonschema")]
use crate::capability::{Capability, OutputSchema};
use crate::capability::{OutputCheck, Schema};
use crate::error::StartError;
use crate::in_process::ChildSetupError;

/// The structured value that each turn of an agent has to deliver.
///
/// A model that [declares a response format](crate::agent::Model::has_response_format) delivers through it; any
/// other calls a capture tool whose arguments are the value. A value that does not fit goes back to the model with
/// the reason, as often as [`Limits::output_retries`](crate::agent::Limits::output_retries) allows. A turn that
/// completes has its value.
///
/// ```
/// use std::sync::Arc;
///
/// use serde_json::json;
/// use subagent::agent::{Agent, OutputContract, TurnOptions};
/// use subagent::testing::{ScriptedModel, ScriptedReply};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Count {
///     words: u32,
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let model = ScriptedModel::new()
///     .reply(ScriptedReply::new().tool_call("1", "deliver_result", json!({ "words": 3 })));
/// let mut agent = Agent::builder(Arc::new(model)).output(OutputContract::of::<Count>()).build();
/// let outcome = agent.run_turn(vec!["Count: one two three".into()], TurnOptions::new()).await;
/// assert_eq!(outcome.structured, Some(json!({ "words": 3 })));
/// # }
/// ```
#[derive(Clone)]
pub struct OutputContract {
    schema: Arc<WrappedSchema>,
    check: OutputCheck,
    #[cfg(feature = "jsonschema")]
    validator: Option<Arc<Validator>>,
}

impl OutputContract {
    /// A value of type `T`.
    #[cfg(feature = "typed-output")]
    #[must_use]
    pub fn of<T: schemars::JsonSchema + serde::de::DeserializeOwned + 'static>() -> Self {
        Self::new(&Schema::of::<T>(), OutputCheck::of::<T>())
    }

    /// A value that the model makes by `schema` and that `check` accepts.
    #[must_use]
    pub fn new(schema: &Schema, check: OutputCheck) -> Self {
        Self {
            schema: Arc::new(WrappedSchema::of(schema.as_value())),
            check,
            #[cfg(feature = "jsonschema")]
            validator: None,
        }
    }

    /// Checks values against the whole schema too.
    ///
    /// # Errors
    ///
    /// When the schema itself is not valid, or refers to something outside of itself.
    #[cfg(feature = "jsonschema")]
    pub fn validated(mut self, schema: &Schema) -> Result<Self, UnusableSchema> {
        self.validator = Some(Arc::new(Validator::new(schema.as_value())?));
        Ok(self)
    }

    /// What a request asks for. A schema without a type needs `validate`.
    pub(crate) fn of_request(
        schema: &Schema,
        check: Option<OutputCheck>,
        validate: bool,
    ) -> Result<Self, StartError> {
        let check = check.unwrap_or(OutputCheck::of::<Value>());
        if check.accepts_any() && !validate {
            return Err(StartError::failed(ChildSetupError::UncheckedSchema));
        }
        let contract = Self::new(schema, check);
        #[cfg(feature = "jsonschema")]
        if validate {
            return contract.validated(schema).map_err(|error| StartError::InvalidValue {
                capability: <OutputSchema as Capability>::NAME.to_owned(),
                run_id: None,
                source: error.into(),
            });
        }
        Ok(contract)
    }

    /// The schema that the model is shown: an object's.
    pub(crate) fn shown(&self) -> &Arc<Value> {
        self.schema.shown()
    }

    /// The value in what the model delivered, or where it does not fit and how.
    pub(crate) fn accept(&self, delivered: Value) -> Result<Value, String> {
        let value = self.schema.unwrap(delivered)?;
        #[cfg(feature = "jsonschema")]
        if let Some(validator) = &self.validator {
            validator.check(&value)?;
        }
        self.check.check(&value)?;
        Ok(value)
    }
}

impl fmt::Debug for OutputContract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputContract").field("schema", self.shown()).finish_non_exhaustive()
    }
}
