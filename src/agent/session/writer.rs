use super::{AppendError, Session, SessionEventKind, SessionHeader, SessionPrefix, ToolResult};
use crate::content::ContentBlock;
use crate::stop_reason::StopReason;

/// The owner's side of a session: the only way to append to its log.
#[derive(Debug)]
pub struct SessionWriter {
    session: Session,
}

impl SessionWriter {
    /// An empty session.
    #[must_use]
    pub fn new(header: SessionHeader) -> Self {
        Self::fork(&SessionPrefix::default(), header)
    }

    /// A session that begins with the completed turns of another; the header's seed length is set to theirs.
    ///
    /// Tool calls that the last of these turns left without a result are closed with results that say so, as
    /// the first events of the new session's own.
    #[must_use]
    pub fn fork(prefix: &SessionPrefix, mut header: SessionHeader) -> Self {
        header.seed_length = prefix.len();
        let mut writer = Self { session: Session::new(header, prefix.clone()) };
        writer.close_interrupted();
        writer
    }

    /// The session, for reading.
    #[must_use]
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Appends an event and returns its sequence number.
    ///
    /// # Errors
    ///
    /// When the event does not fit where the log stands, for example a result without a call.
    pub fn append(&mut self, kind: SessionEventKind) -> Result<u64, AppendError> {
        self.session.log().append(kind)
    }

    /// Closes what an interruption left open: calls without a result get one that says so, a step and a turn
    /// end, the turn as [`Aborted`](StopReason::Aborted). Where nothing is open it does nothing.
    pub fn close_interrupted(&mut self) {
        let (calls, step_open, turn_open) = {
            let log = self.session.log();
            (log.grammar.unanswered.clone(), log.grammar.step_open, log.grammar.turn_open)
        };
        let results = calls.into_iter().map(|id| SessionEventKind::ToolResult(interrupted(id)));
        let step_end = step_open.then(|| SessionEventKind::StepEnd { usage: Vec::new() });
        let turn_end = turn_open.then_some(SessionEventKind::TurnEnd { reason: StopReason::Aborted });
        for event in results.chain(step_end).chain(turn_end) {
            if let Err(error) = self.append(event) {
                tracing::error!(%error, session = %self.session.header().id, "an interrupted turn cannot be closed");
            }
        }
    }

    pub(super) fn from_loaded(session: Session) -> Self {
        let mut writer = Self { session };
        writer.close_interrupted();
        writer
    }
}

fn interrupted(id: String) -> ToolResult {
    let text = "The call was interrupted: it has no result, and whether it took effect is unknown.";
    ToolResult::new(id, vec![ContentBlock::text(text)], true)
}
