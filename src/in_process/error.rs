use std::sync::Arc;

use crate::error::listed;

/// An in-process child cannot be set up; the cause of a [`StartError::Failed`](crate::StartError::Failed).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChildSetupError {
    /// Neither the request nor the parent nor the provider says which model to use.
    #[error(
        "no model is chosen: ask for one with `Request::model`, give the parent one, or give the provider a default"
    )]
    NoModel,
    /// The provider does not know the model that the request or the parent names.
    #[error("there is no model named `{name}`; known models: {}", listed(known))]
    UnknownModel {
        /// The model's name.
        name: String,
        /// The names of the models that the provider was given.
        known: Vec<Arc<str>>,
    },
    /// The parent has no log to fork from.
    #[error(
        "the parent has no log to fork from: make it from the calling agent, or give it a log with `Parent::with_log`"
    )]
    NoLog,
    /// The request has a schema and no type, and the provider does not check values against whole schemas.
    #[error(
        "the request's output schema is a JSON value, which no type holds the child to: build the provider with \
         `validate_schemas()` (feature `jsonschema`), or ask for a type with `Request::output`"
    )]
    UncheckedSchema,
}

impl ChildSetupError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoModel => "NO_MODEL",
            Self::UnknownModel { .. } => "UNKNOWN_MODEL",
            Self::NoLog => "NO_LOG",
            Self::UncheckedSchema => "UNCHECKED_SCHEMA",
        }
    }
}
