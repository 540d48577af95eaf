use std::fmt;

/// What a fixture makes the children of a provider show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Behaviour {
    /// The child completes and has said [`text`](Self::text), exactly. Every provider can show this.
    Completes,
    /// The child works until it is cancelled; then it stops and settles by itself. Only a provider whose children have
    /// always settled when `start` returns cannot show this.
    Waits,
    /// The child reports [`text`](Self::text) as its progress, without the end of a message, and then
    /// [`Waits`](Self::Waits); it settles without a final message.
    Streams,
    /// The child fails: its run ends with `StopReason::Error` and a diagnostic.
    Fails,
    /// The child panics.
    Panics,
    /// The child works on and hears no cancellation; only its disposal ends it.
    IgnoresCancel,
    /// The provider's `start` fails after it began to launch a child.
    FailsToStart,
    /// The provider's `start` panics.
    PanicsInStart,
    /// The provider's `start` launches a child and then waits without end.
    HangsInStart,
    /// The child completes with [`text`](Self::text) before the provider's `start` returns.
    SettlesInStart,
    /// The child completes with [`text`](Self::text), and its disposal fails although it ends the child.
    FailsToDispose,
    /// The child waits for [`MESSAGES`](Self::MESSAGES) messages and completes with [`text`](Self::text) once it has
    /// seen them. For providers whose runs can be steered; the staged provider [`sees`](super::Staged::sees).
    Receives,
    /// The child completes with [`text`](Self::text), and with [`follow_up_text`](Self::follow_up_text) when it is
    /// resumed. For providers whose runs can be resumed.
    FollowsUp,
}

impl Behaviour {
    /// How many messages a child that [`Receives`](Self::Receives) waits for.
    pub const MESSAGES: usize = 3;

    /// All behaviours.
    pub const ALL: [Self; 13] = [
        Self::Completes,
        Self::Waits,
        Self::Streams,
        Self::Fails,
        Self::Panics,
        Self::IgnoresCancel,
        Self::FailsToStart,
        Self::PanicsInStart,
        Self::HangsInStart,
        Self::SettlesInStart,
        Self::FailsToDispose,
        Self::Receives,
        Self::FollowsUp,
    ];

    /// What the child says, where it says something.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Completes => "The work is done.",
            Self::Streams => "Half of the work is done",
            Self::SettlesInStart => "The work was done at once.",
            Self::FailsToDispose => "The work is done, and clearing up fails.",
            Self::Receives => "All messages were seen.",
            Self::FollowsUp => "The first turn is done.",
            _ => "",
        }
    }

    /// What a child that [`FollowsUp`](Self::FollowsUp) says when it is resumed.
    #[must_use]
    pub fn follow_up_text(self) -> &'static str {
        "The second turn is done."
    }

    /// Whether every provider has to show it.
    pub(super) fn is_required(self) -> bool {
        self == Self::Completes
    }
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Behaviour::{self:?}")
    }
}
