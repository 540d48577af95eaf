use std::io;

/// An event does not fit where the log stands; nothing was appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// A turn began inside another.
    #[error("a turn is open: it has to end before another begins")]
    TurnOpen,
    /// An event that belongs into a turn came outside of one.
    #[error("no turn is open: `{event}` belongs between a turn's start and its end")]
    NoTurn {
        /// The event's type.
        event: &'static str,
    },
    /// A step is open where none may be.
    #[error("a step is open: it has to end before `{event}`")]
    StepOpen {
        /// The event's type.
        event: &'static str,
    },
    /// An event that belongs into a step came outside of one.
    #[error("no step is open: `{event}` belongs between a step's start and its end")]
    NoStep {
        /// The event's type.
        event: &'static str,
    },
    /// A tool call has no result where it needs one.
    #[error("the tool call {call:?} has no result: it needs one before `{event}`")]
    Unanswered {
        /// The call's id.
        call: String,
        /// The event's type.
        event: &'static str,
    },
    /// A tool call without an id, or with the id of a call that waits for its result.
    #[error(
        "the tool call id {call:?} is not usable: it must not be empty nor that of a call without a result"
    )]
    CallId {
        /// The id.
        call: String,
    },
    /// A result that answers no call, or one that has a result already.
    #[error("no tool call {call:?} waits for a result")]
    UnknownCall {
        /// The id that the result names.
        call: String,
    },
}

impl AppendError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TurnOpen => "TURN_OPEN",
            Self::NoTurn { .. } => "NO_TURN",
            Self::StepOpen { .. } => "STEP_OPEN",
            Self::NoStep { .. } => "NO_STEP",
            Self::Unanswered { .. } => "UNANSWERED_CALL",
            Self::CallId { .. } => "INVALID_CALL_ID",
            Self::UnknownCall { .. } => "UNKNOWN_CALL",
        }
    }
}

/// A session log cannot be read. Lines are counted from 1; the header is the first.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadSessionError {
    /// Reading failed.
    #[error("line {line} of the session log cannot be read")]
    Io {
        /// Which line.
        line: u64,
        /// Why.
        source: io::Error,
    },
    /// The log is empty: not even a header.
    #[error("the session log is empty: its first line must be a header")]
    Empty,
    /// The first line is not a header.
    #[error("line 1 of the session log is not a session header")]
    Header {
        /// Why.
        source: serde_json::Error,
    },
    /// The log is of a version that this release does not know.
    #[error("the session log has version {version}: this release reads version 1")]
    Version {
        /// The version found.
        version: u32,
    },
    /// A line is not an event.
    #[error("line {line} of the session log is not an event")]
    Event {
        /// Which line.
        line: u64,
        /// Why.
        source: serde_json::Error,
    },
    /// An event is missing, doubled or out of order.
    #[error("line {line} of the session log has sequence number {found}: it must be {expected}")]
    Sequence {
        /// Which line.
        line: u64,
        /// The number that follows the line before.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// An event does not fit where it stands.
    #[error("line {line} of the session log does not fit where it stands")]
    Order {
        /// Which line.
        line: u64,
        /// Why.
        source: AppendError,
    },
    /// The header's seed length is not the end of a turn in the log.
    #[error("the session's seed length is {seed_length}: it must be 0 or end with the end of a turn")]
    Seed {
        /// The seed length found.
        seed_length: u64,
    },
}

impl LoadSessionError {
    /// A stable code for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Io { .. } => "LOG_UNREADABLE",
            Self::Empty => "EMPTY_LOG",
            Self::Header { .. } => "INVALID_HEADER",
            Self::Version { .. } => "UNKNOWN_VERSION",
            Self::Event { .. } => "INVALID_EVENT",
            Self::Sequence { .. } => "OUT_OF_SEQUENCE",
            Self::Order { .. } => "OUT_OF_ORDER",
            Self::Seed { .. } => "INVALID_SEED",
        }
    }
}
