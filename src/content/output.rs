use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use super::{ContentBlock, SnapshotError};

/// What a child said: an immutable, shared list of content blocks. Cloning it copies no block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Output(Arc<[ContentBlock]>);

impl Output {
    /// No output: absent, which is not the same as an empty message.
    #[must_use]
    pub fn none() -> Self {
        static NONE: OnceLock<Output> = OnceLock::new();
        NONE.get_or_init(|| Self(Arc::new([]))).clone()
    }

    /// One text block; no output where the text is empty.
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() { Self::none() } else { Self(Arc::new([ContentBlock::text(text)])) }
    }

    /// All text blocks together, in order, with nothing between them; borrowed where there is at most one.
    #[must_use]
    pub fn to_text(&self) -> Cow<'_, str> {
        let mut texts = self.iter().filter_map(ContentBlock::as_text);
        match (texts.next(), texts.next()) {
            (None, _) => Cow::Borrowed(""),
            (Some(only), None) => Cow::Borrowed(only),
            (Some(first), Some(second)) => {
                let mut joined = String::from(first);
                joined.push_str(second);
                joined.extend(texts);
                Cow::Owned(joined)
            }
        }
    }

    /// The same output with every provider-defined block fixed as it is now; shared where there is none.
    pub(crate) fn freeze(&self) -> Result<Self, SnapshotError> {
        if !self.iter().any(|block| matches!(block, ContentBlock::Provider(_))) {
            return Ok(self.clone());
        }
        self.iter()
            .map(|block| match block {
                ContentBlock::Provider(block) => block.freeze().map(ContentBlock::Provider),
                block => Ok(block.clone()),
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl Default for Output {
    fn default() -> Self {
        Self::none()
    }
}

impl Deref for Output {
    type Target = [ContentBlock];

    fn deref(&self) -> &[ContentBlock] {
        &self.0
    }
}

impl From<Vec<ContentBlock>> for Output {
    fn from(blocks: Vec<ContentBlock>) -> Self {
        if blocks.is_empty() { Self::none() } else { Self(blocks.into()) }
    }
}

impl From<ContentBlock> for Output {
    fn from(block: ContentBlock) -> Self {
        Self(Arc::new([block]))
    }
}

impl From<&str> for Output {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Output {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}
