use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures::stream::{self, Stream};

use super::{ModelError, ModelEvent};

/// A model's response as it comes in. Dropping it ends the call.
#[must_use = "a response that is not polled does nothing"]
pub struct ModelStream(Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>);

impl ModelStream {
    /// A response that is this stream.
    pub fn new(events: impl Stream<Item = Result<ModelEvent, ModelError>> + Send + 'static) -> Self {
        Self(Box::pin(events))
    }

    /// A response that is only an error.
    pub fn failed(error: ModelError) -> Self {
        Self::new(stream::iter([Err(error)]))
    }
}

impl Stream for ModelStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(context)
    }
}

impl fmt::Debug for ModelStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelStream").finish_non_exhaustive()
    }
}
