//! The models that the `genai` crate speaks to.

mod failure;
mod request;
mod response;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint, ProviderConfig};
use genai::{Client, ModelIden};

use self::failure::Redaction;
use super::{Model, ModelErrorSource, ModelRequest, ModelStream};
use crate::content::ContentKinds;

const CONNECT_WITHIN: Duration = Duration::from_secs(30);

/// Sent to a server of the caller's own where the caller gave no key: some want any.
const NO_KEY: &str = "none";

/// A model of any vendor that the `genai` crate speaks to.
///
/// The vendor follows from the model's name, `claude-…`, `gemini-…` or `gpt-…` for example; a namespace before it
/// says it outright: `groq::…`, `openai::…`. The key is read from the vendor's usual environment variable, unless
/// it is given.
///
/// ```no_run
/// use subagent::Spawn;
/// use subagent::agent::GenaiModel;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let claude = GenaiModel::new("claude-sonnet-4-6")?;
/// let local = GenaiModel::builder("local").base_url("http://127.0.0.1:8080/v1").response_format(true).build()?;
/// let spawn = Spawn::builder().default_model(claude).model(local).build();
/// # Ok(()) }
/// ```
///
/// Redirects are not followed: they would carry the key elsewhere. Nothing is tried again: an error says whether
/// that makes sense. Reasoning is reported as [thoughts](super::ModelEvent::Thought), but a vendor's signatures of
/// it are not kept: leave extended thinking off for a vendor that demands them back. Usage comes with a response's
/// end, so a response that fails reports none.
#[derive(Clone)]
pub struct GenaiModel {
    name: Arc<str>,
    client: Client,
    identity: ModelIden,
    redaction: Redaction,
    content_kinds: ContentKinds,
    response_format: bool,
    temperature: Option<f64>,
}

impl GenaiModel {
    /// The model of this name, at its vendor's address, with the key of the vendor's environment variable.
    ///
    /// # Errors
    ///
    /// When the HTTP client cannot be set up.
    pub fn new(name: impl Into<Arc<str>>) -> Result<Self, GenaiSetupError> {
        Self::builder(name).build()
    }

    /// Sets up the model of this name.
    pub fn builder(name: impl Into<Arc<str>>) -> GenaiModelBuilder {
        GenaiModelBuilder {
            name: name.into(),
            base_url: None,
            key: None,
            content_kinds: ContentKinds::TEXT,
            response_format: false,
            temperature: None,
        }
    }
}

impl Model for GenaiModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        match request::prepare(&request, self.response_format) {
            Ok(mut call) => {
                call.options.temperature = self.temperature;
                response::stream(&self.client, &self.identity, call, &self.redaction)
            }
            Err(error) => ModelStream::failed(error),
        }
    }

    fn content_kinds(&self) -> ContentKinds {
        self.content_kinds
    }

    fn has_response_format(&self) -> bool {
        self.response_format
    }
}

/// Shows neither key nor address.
impl fmt::Debug for GenaiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenaiModel")
            .field("name", &self.name)
            .field("vendor", &self.identity.adapter_kind)
            .finish_non_exhaustive()
    }
}

/// A [`GenaiModel`] in the making.
#[must_use = "a model is made by `build`"]
pub struct GenaiModelBuilder {
    name: Arc<str>,
    base_url: Option<String>,
    key: Option<String>,
    content_kinds: ContentKinds,
    response_format: bool,
    temperature: Option<f64>,
}

impl GenaiModelBuilder {
    /// Talks to this address, for example `http://127.0.0.1:8080/v1`, in place of the vendor's.
    ///
    /// A name that tells no vendor then means the `OpenAI` protocol. The key of an environment variable is not sent
    /// there: give the server's own with [`key`](Self::key).
    pub fn base_url(mut self, base_url: impl Into<String>) -> Self {
        self.base_url = Some(base_url.into());
        self
    }

    /// Uses this key in place of the vendor's environment variable.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Declares whether the model takes a JSON schema as response format; it does not by default. Structured output
    /// then goes through it, and otherwise through a tool.
    pub fn response_format(mut self, has_it: bool) -> Self {
        self.response_format = has_it;
        self
    }

    /// Sets the sampling temperature; the vendor's own by default.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Declares the kinds of content that the model reads; text alone by default. Images, audio and text resources
    /// can be sent.
    pub fn reading(mut self, kinds: ContentKinds) -> Self {
        self.content_kinds = kinds;
        self
    }

    /// The model.
    ///
    /// # Errors
    ///
    /// When the base URL is none, or the HTTP client cannot be set up.
    pub fn build(self) -> Result<GenaiModel, GenaiSetupError> {
        let vendor = vendor(&self.name, self.base_url.is_some());
        let mut provider = ProviderConfig::default();
        if let Some(base_url) = &self.base_url {
            let http =
                reqwest::Url::parse(base_url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
            if !http {
                return Err(GenaiSetupError::BaseUrl);
            }
            provider =
                provider.with_endpoint(Endpoint::from_owned(format!("{}/", base_url.trim_end_matches('/'))));
        }
        match (&self.key, &self.base_url) {
            (Some(key), _) => provider = provider.with_auth(AuthData::from_single(key)),
            (None, Some(_)) => provider = provider.with_auth(AuthData::from_single(NO_KEY)),
            (None, None) => {}
        }
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_WITHIN)
            .tcp_nodelay(true)
            .build()
            .map_err(|error| GenaiSetupError::Client { source: Arc::new(error) })?;
        let client = Client::builder()
            .with_reqwest(http)
            .append_provider_config(vendor, provider)
            .build()
            .map_err(|error| GenaiSetupError::Client { source: Arc::new(error) })?;
        Ok(GenaiModel {
            redaction: Redaction::new(self.key, self.base_url.is_none().then_some(vendor)),
            identity: ModelIden::new(vendor, &*self.name),
            name: self.name,
            client,
            content_kinds: self.content_kinds,
            response_format: self.response_format,
            temperature: self.temperature,
        })
    }
}

/// Shows neither key nor address.
impl fmt::Debug for GenaiModelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenaiModelBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A [`GenaiModel`] cannot be set up.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GenaiSetupError {
    /// The base URL is not one.
    // The URL is not shown: it may hold credentials.
    #[error("the base URL is not an absolute `http` or `https` URL, such as `http://127.0.0.1:8080/v1`")]
    BaseUrl,
    /// The HTTP client cannot be set up.
    #[error("the HTTP client cannot be set up")]
    Client {
        /// Why.
        source: ModelErrorSource,
    },
}

impl GenaiSetupError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BaseUrl => "INVALID_BASE_URL",
            Self::Client { .. } => "HTTP_CLIENT",
        }
    }
}

/// Whom to talk to. `genai` takes a name that it does not know for one of a local Ollama; behind an address of the
/// caller's own it is the protocol that nearly all servers speak.
fn vendor(name: &str, own_address: bool) -> AdapterKind {
    match AdapterKind::from_model(name) {
        Ok(AdapterKind::Ollama) if own_address && !name.contains("::") => AdapterKind::OpenAI,
        Ok(vendor) => vendor,
        Err(_) => AdapterKind::OpenAI,
    }
}
