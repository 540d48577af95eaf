use std::fmt;
use std::sync::Arc;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// The content of a provider-defined block.
///
/// It may be live (a growing file, a handle to something remote): [`snapshot`](Self::snapshot) is asked for its
/// present value when an event carries the block or when it is serialized.
pub trait ProviderContent: Send + Sync + 'static {
    /// The block's `type`, namespaced with a `/`: `"acme/card"`.
    fn kind(&self) -> &str;

    /// The block's fields as they are now, without `type`.
    ///
    /// # Errors
    ///
    /// When the content cannot be read any more. An event is then sent without the output that holds it.
    fn snapshot(&self) -> Result<Map<String, Value>, SnapshotError>;
}

/// A provider-defined block could not be read.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the content block cannot be read: {reason}")]
#[non_exhaustive]
pub struct SnapshotError {
    /// Why.
    pub reason: String,
}

impl SnapshotError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "UNREADABLE_BLOCK"
    }
}

impl SnapshotError {
    /// An error that says why the content cannot be read.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// A content block whose kind a provider defines; cheap to clone.
///
/// Read from JSON, it keeps its `type` and fields as they are.
#[derive(Clone)]
pub struct ProviderBlock(Arc<dyn ProviderContent>);

impl ProviderBlock {
    /// A block with this content.
    pub fn new(content: impl ProviderContent) -> Self {
        Self(Arc::new(content))
    }

    /// The block's `type`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.0.kind()
    }

    /// The block's fields as they are now.
    ///
    /// # Errors
    ///
    /// When the content cannot be read any more.
    pub fn snapshot(&self) -> Result<Map<String, Value>, SnapshotError> {
        self.0.snapshot()
    }

    /// The same block with its fields fixed as they are now.
    ///
    /// # Errors
    ///
    /// When the content cannot be read any more.
    pub fn freeze(&self) -> Result<Self, SnapshotError> {
        Ok(Self::new(Frozen { kind: self.kind().into(), fields: self.snapshot()? }))
    }

    pub(super) fn from_parts(kind: &str, fields: Map<String, Value>) -> Result<Self, &'static str> {
        if kind.starts_with('/') || kind.ends_with('/') {
            return Err("a provider-defined content block type needs a name on both sides of its `/`");
        }
        Ok(Self::new(Frozen { kind: kind.into(), fields }))
    }
}

impl fmt::Debug for ProviderBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderBlock").field("kind", &self.kind()).finish_non_exhaustive()
    }
}

/// Two blocks are equal when they are one, or when their kinds and present fields are.
impl PartialEq for ProviderBlock {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.kind() == other.kind()
                && matches!((self.snapshot(), other.snapshot()), (Ok(one), Ok(another)) if one == another)
    }
}

impl Serialize for ProviderBlock {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = self.snapshot().map_err(S::Error::custom)?;
        fields.insert("type".into(), self.kind().into());
        fields.serialize(serializer)
    }
}

struct Frozen {
    kind: Box<str>,
    fields: Map<String, Value>,
}

impl ProviderContent for Frozen {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn snapshot(&self) -> Result<Map<String, Value>, SnapshotError> {
        Ok(self.fields.clone())
    }
}
