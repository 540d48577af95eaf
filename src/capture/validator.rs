use serde_json::Value;

/// How many mismatches a model is told of at once.
const MOST_SHOWN: usize = 5;

/// Checks values against a whole JSON schema.
pub(super) struct Validator(jsonschema::Validator);

impl Validator {
    pub(super) fn new(schema: &Value) -> Result<Self, UnusableSchema> {
        jsonschema::validator_for(schema)
            .map(Self)
            .map_err(|error| UnusableSchema { reason: error.to_string() })
    }

    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        let mismatches: Vec<String> = self
            .0
            .iter_errors(value)
            .take(MOST_SHOWN)
            .map(|error| {
                let path = error.instance_path().to_string();
                let place = if path.is_empty() { "the value itself" } else { path.as_str() };
                format!("at {place}: {error}")
            })
            .collect();
        if mismatches.is_empty() { Ok(()) } else { Err(mismatches.join("; ")) }
    }
}

/// The JSON schema cannot be used to check values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the JSON schema cannot be used: {reason}")]
#[non_exhaustive]
pub struct UnusableSchema {
    /// What is wrong with it.
    pub reason: String,
}

impl UnusableSchema {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "UNUSABLE_SCHEMA"
    }
}
