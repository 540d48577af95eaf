use std::fmt;
use std::sync::Arc;

use super::ChildSetupError;
use crate::agent::{CallingAgent, Model};
use crate::parent::Parent;

/// The models that a provider's children can run on, by name.
#[derive(Clone, Default)]
pub(crate) struct Models {
    known: Vec<Arc<dyn Model>>,
    default: Option<Arc<dyn Model>>,
    resolve: Option<Arc<Resolve>>,
}

type Resolve = dyn Fn(&str) -> Option<Arc<dyn Model>> + Send + Sync;

impl Models {
    pub(crate) fn add(&mut self, model: Arc<dyn Model>) {
        self.known.push(model);
    }

    pub(crate) fn set_default(&mut self, model: Arc<dyn Model>) {
        self.known.push(Arc::clone(&model));
        self.default = Some(model);
    }

    pub(crate) fn resolve_with(
        &mut self,
        resolve: impl Fn(&str) -> Option<Arc<dyn Model>> + Send + Sync + 'static,
    ) {
        self.resolve = Some(Arc::new(resolve));
    }

    fn names(&self) -> Vec<Arc<str>> {
        self.known.iter().map(|model| model.name().into()).collect()
    }

    /// The child's model: the one asked for, else the parent's, else the provider's default, else an error.
    pub(super) fn choose(
        &self,
        asked: Option<&str>,
        parent: Option<&Parent>,
    ) -> Result<Arc<dyn Model>, ChildSetupError> {
        let live = parent.and_then(Parent::agent).and_then(CallingAgent::inherited_model);
        match (asked, live, parent.and_then(Parent::model)) {
            (Some(name), Some(live), _) if live.name() == name => Ok(Arc::clone(live)),
            (Some(name), _, _) | (None, None, Some(name)) => self.named(name),
            (None, Some(live), _) => Ok(Arc::clone(live)),
            (None, None, None) => self.default.clone().ok_or(ChildSetupError::NoModel),
        }
    }

    fn named(&self, name: &str) -> Result<Arc<dyn Model>, ChildSetupError> {
        let known = self.known.iter().find(|model| model.name() == name).cloned();
        known
            .or_else(|| self.resolve.as_ref()?(name))
            .ok_or_else(|| ChildSetupError::UnknownModel { name: name.to_owned(), known: self.names() })
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
