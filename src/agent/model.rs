//! What a language model has to do for the built-in agent.

mod error;
mod event;
#[cfg(feature = "genai")]
mod genai_model;
mod message;
mod request;
mod stream;

pub use error::{ModelError, ModelErrorSource};
pub use event::{FinishReason, ModelEvent};
#[cfg(feature = "genai")]
pub use genai_model::{GenaiModel, GenaiModelBuilder, GenaiSetupError};
pub use message::Message;
pub use request::{ModelRequest, ResponseFormat, ToolChoice};
pub use stream::ModelStream;

use std::sync::Arc;

use crate::content::ContentKinds;

/// A language model.
///
/// # Contract
///
/// - **One call, one stream.** [`stream`](Self::stream) returns at once; connecting and waiting happen while the
///   stream is polled. The stream ends after one [`Finish`](ModelEvent::Finish) or one error. A stream that ends
///   with neither counts as [cut](ModelError::CutStream).
/// - **Deltas.** Text and thoughts come in pieces, in order, each as soon as it is known; together they are the
///   message. An empty piece means nothing.
/// - **Tool calls** come whole, never in pieces, and any number in one response. Each has an id: the model's
///   own where it gives one, else one that the implementation mints. Arguments are the text that the model
///   wrote, well-formed or not: the agent answers malformed ones.
/// - **Usage** is added up: report a count once, also for a response that fails. What the vendor does not
///   report stays `None`.
/// - **Errors** are told apart so that a caller can act on them. Their text is safe to show: no keys, no
///   addresses with credentials.
/// - **Cancellation.** Dropping the stream ends the call. The request's token only tells early.
/// - **Limits.** The request's output-token cap and response format reach the vendor, or the call is a
///   [bad request](ModelError::BadRequest): nothing in a request is ignored.
/// - A step may run twice after a crash, so a call must not depend on the calls before it.
///
/// [`testing::model_conformance`](crate::testing::model_conformance) checks an implementation against it.
pub trait Model: Send + Sync + 'static {
    /// The name by which usage and sessions know the model.
    fn name(&self) -> &str;

    /// Begins one call.
    fn stream(&self, request: ModelRequest) -> ModelStream;

    /// The kinds of content that the model can read.
    fn content_kinds(&self) -> ContentKinds {
        ContentKinds::TEXT
    }

    /// Whether [`ModelRequest::response_format`] is understood natively.
    fn has_response_format(&self) -> bool {
        false
    }
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        (**self).stream(request)
    }

    fn content_kinds(&self) -> ContentKinds {
        (**self).content_kinds()
    }

    fn has_response_format(&self) -> bool {
        (**self).has_response_format()
    }
}
