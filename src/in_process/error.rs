use std::sync::Arc;

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
}

impl ChildSetupError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoModel => "NO_MODEL",
            Self::UnknownModel { .. } => "UNKNOWN_MODEL",
        }
    }
}

fn listed(names: &[Arc<str>]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
