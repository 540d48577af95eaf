use std::fmt;

/// The kinds of [`ContentBlock`](super::ContentBlock).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ContentKind {
    /// Text.
    Text,
    /// An image.
    Image,
    /// Audio.
    Audio,
    /// A reference to a resource.
    ResourceLink,
    /// A resource with its contents.
    Resource,
    /// A block of a kind that a provider defines.
    Provider,
}

impl ContentKind {
    const ALL: [Self; 6] =
        [Self::Text, Self::Image, Self::Audio, Self::ResourceLink, Self::Resource, Self::Provider];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for ContentKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Image => "image",
            Self::Audio => "audio",
            Self::ResourceLink => "resource_link",
            Self::Resource => "resource",
            Self::Provider => "provider-defined",
        })
    }
}

/// The kinds of content that a provider can carry to its child.
///
/// ```
/// use subagent::{ContentKind, ContentKinds};
///
/// const KINDS: ContentKinds = ContentKinds::TEXT.with(ContentKind::Image);
/// assert!(KINDS.contains(ContentKind::Image) && !KINDS.contains(ContentKind::Audio));
/// assert_eq!(KINDS.to_string(), "text, image");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ContentKinds(u8);

impl ContentKinds {
    /// Text alone.
    pub const TEXT: Self = Self(ContentKind::Text.bit());
    /// Every kind.
    pub const ALL: Self = Self(0b0011_1111);

    /// These kinds and one more.
    #[must_use]
    pub const fn with(self, kind: ContentKind) -> Self {
        Self(self.0 | kind.bit())
    }

    /// The kinds that both sets hold.
    #[must_use]
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether `kind` is among them.
    #[must_use]
    pub const fn contains(self, kind: ContentKind) -> bool {
        self.0 & kind.bit() != 0
    }
}

impl fmt::Display for ContentKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for kind in ContentKind::ALL.into_iter().filter(|kind| self.contains(*kind)) {
            if !first {
                f.write_str(", ")?;
            }
            first = false;
            kind.fmt(f)?;
        }
        Ok(())
    }
}
