use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::{ContentKind, ProviderBlock};

/// One piece of content: in a prompt, a message, an output or a tool result.
///
/// Its JSON form is the one MCP and ACP share: an object whose `type` tells the kind. A `type` that holds a
/// `/` is a provider-defined block (see [`ProviderBlock`]).
///
/// ```
/// use subagent::ContentBlock;
///
/// let block: ContentBlock = serde_json::from_str(r#"{"type":"text","text":"hello"}"#)?;
/// assert_eq!(block, ContentBlock::text("hello"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ContentBlock {
    /// Text.
    Text(TextContent),
    /// An image, base64-encoded.
    Image(ImageContent),
    /// Audio, base64-encoded.
    Audio(AudioContent),
    /// A reference to a resource that the reader may fetch.
    ResourceLink(ResourceLink),
    /// A resource with its contents.
    Resource(EmbeddedResource),
    /// A block of a kind that a provider defines.
    Provider(ProviderBlock),
}

impl ContentBlock {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into() })
    }

    /// An image block; `data` is base64.
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(ImageContent { data: data.into(), mime_type: mime_type.into(), uri: None })
    }

    /// An audio block; `data` is base64.
    pub fn audio(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Audio(AudioContent { data: data.into(), mime_type: mime_type.into() })
    }

    /// A link to a resource.
    pub fn resource_link(name: impl Into<String>, uri: impl Into<String>) -> Self {
        Self::ResourceLink(ResourceLink {
            name: name.into(),
            uri: uri.into(),
            title: None,
            description: None,
            mime_type: None,
            size: None,
        })
    }

    /// The text of a text block, `None` for every other kind.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            _ => None,
        }
    }

    /// Which kind of block this is.
    #[must_use]
    pub fn kind(&self) -> ContentKind {
        match self {
            Self::Text(_) => ContentKind::Text,
            Self::Image(_) => ContentKind::Image,
            Self::Audio(_) => ContentKind::Audio,
            Self::ResourceLink(_) => ContentKind::ResourceLink,
            Self::Resource(_) => ContentKind::Resource,
            Self::Provider(_) => ContentKind::Provider,
        }
    }
}

impl From<&str> for ContentBlock {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ContentBlock {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

/// Text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TextContent {
    /// The text itself.
    pub text: String,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ImageContent {
    /// The bytes, base64-encoded.
    pub data: String,
    /// For example `image/png`.
    pub mime_type: String,
    /// Where the image comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
}

/// Audio.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AudioContent {
    /// The bytes, base64-encoded.
    pub data: String,
    /// For example `audio/wav`.
    pub mime_type: String,
}

/// A reference to a resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceLink {
    /// A short name to show.
    pub name: String,
    /// Where the resource is.
    pub uri: String,
    /// A title to show instead of the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the resource is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// For example `text/plain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// In bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

/// A resource with its contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EmbeddedResource {
    /// The contents.
    pub resource: ResourceContents,
}

impl EmbeddedResource {
    /// A resource with these contents.
    #[must_use]
    pub fn new(resource: ResourceContents) -> Self {
        Self { resource }
    }
}

/// The contents of an embedded resource: text, or bytes as base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum ResourceContents {
    /// A text resource.
    Text {
        /// Where the resource comes from.
        uri: String,
        /// For example `text/plain`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// The text itself.
        text: String,
    },
    /// A binary resource.
    Blob {
        /// Where the resource comes from.
        uri: String,
        /// For example `application/pdf`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
        /// The bytes, base64-encoded.
        blob: String,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tagged<'a> {
    Text(&'a TextContent),
    Image(&'a ImageContent),
    Audio(&'a AudioContent),
    ResourceLink(&'a ResourceLink),
    Resource(&'a EmbeddedResource),
}

impl Serialize for ContentBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(content) => Tagged::Text(content).serialize(serializer),
            Self::Image(content) => Tagged::Image(content).serialize(serializer),
            Self::Audio(content) => Tagged::Audio(content).serialize(serializer),
            Self::ResourceLink(content) => Tagged::ResourceLink(content).serialize(serializer),
            Self::Resource(content) => Tagged::Resource(content).serialize(serializer),
            Self::Provider(block) => block.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ContentBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Map::deserialize(deserializer)?;
        let Some(Value::String(kind)) = object.remove("type") else {
            return Err(D::Error::custom(
                "a content block needs a `type` that is a string, for example \"text\"",
            ));
        };
        if kind.contains('/') {
            return ProviderBlock::from_parts(&kind, object).map(Self::Provider).map_err(D::Error::custom);
        }
        let object = Value::Object(object);
        let block = match kind.as_str() {
            "text" => serde_json::from_value(object).map(Self::Text),
            "image" => serde_json::from_value(object).map(Self::Image),
            "audio" => serde_json::from_value(object).map(Self::Audio),
            "resource_link" => serde_json::from_value(object).map(Self::ResourceLink),
            "resource" => serde_json::from_value(object).map(Self::Resource),
            _ => {
                return Err(D::Error::custom(format_args!(
                    "unknown content block type {kind:?}: text, image, audio, resource_link and resource are known, \
                     and provider-defined types hold a `/`"
                )));
            }
        };
        block.map_err(|error| D::Error::custom(format_args!("in a content block of type {kind:?}: {error}")))
    }
}
