use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::ModelCase;
use crate::agent::Model;

/// How the model under check is made.
pub trait ModelFixture: Send + Sync {
    /// A model that shows the case, fresh each time; `None` where it cannot be made to.
    fn stage(&self, case: ModelCase) -> Option<StagedModel>;

    /// How long one case may take, by default ten seconds.
    fn deadline(&self) -> Duration {
        Duration::from_secs(10)
    }
}

/// A model made to show one [`ModelCase`].
#[must_use = "a staged model is for the fixture to return"]
pub struct StagedModel {
    pub(super) model: Arc<dyn Model>,
    pub(super) secret: Option<String>,
    pub(super) ended: Option<BoxFuture<'static, ()>>,
}

impl StagedModel {
    /// This model.
    pub fn new(model: impl Model) -> Self {
        Self { model: Arc::new(model), secret: None, ended: None }
    }

    /// What no error may show, in its text, its sources or its debug form: the key.
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.secret = Some(secret.into());
        self
    }

    /// When the vendor sees that its call is over; the check of [`ModelCase::GoesSilent`] waits for it.
    pub fn ended(mut self, ended: impl Future<Output = ()> + Send + 'static) -> Self {
        self.ended = Some(ended.boxed());
        self
    }
}

impl fmt::Debug for StagedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StagedModel").field("model", &self.model.name()).finish_non_exhaustive()
    }
}
