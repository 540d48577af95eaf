use std::fmt;
use std::sync::Arc;

use super::Parent;
use crate::agent::{Session, SessionPrefix};
use crate::error::BoxError;

/// The log of a parent that children can be forked from.
///
/// A [`Session`] is one. A host that keeps conversations in a form of its own implements this: it writes its
/// completed turns into a session, once, and gives out what is complete.
///
/// ```
/// use subagent::agent::{AssistantMessage, MessageOrigin, SessionEventKind, SessionHeader, SessionPrefix};
/// use subagent::agent::{SessionWriter, UserMessage};
/// use subagent::{BoxError, Parent, ParentLog, SessionId, StopReason};
///
/// /// Questions and answers, as this host keeps them.
/// struct Chat(Vec<(String, String)>);
///
/// impl ParentLog for Chat {
///     fn completed_turns(&self) -> Result<SessionPrefix, BoxError> {
///         let mut log = SessionWriter::new(SessionHeader::new(SessionId::new()));
///         for (question, answer) in &self.0 {
///             log.append(SessionEventKind::TurnStart)?;
///             let question = vec![question.as_str().into()];
///             log.append(SessionEventKind::User(UserMessage::new(MessageOrigin::Prompt, question)))?;
///             log.append(SessionEventKind::StepStart)?;
///             log.append(SessionEventKind::Assistant(AssistantMessage::new(answer.as_str())))?;
///             log.append(SessionEventKind::StepEnd { usage: Vec::new() })?;
///             log.append(SessionEventKind::TurnEnd { reason: StopReason::Completed })?;
///         }
///         Ok(log.session().completed_prefix())
///     }
/// }
///
/// let chat = Chat(vec![("What is your name?".into(), "Ada.".into())]);
/// let parent = Parent::new("agent-1", "session-1").with_model("large").with_log(chat);
/// ```
pub trait ParentLog: Send + Sync + 'static {
    /// The turns that are complete now; a turn in flight is left out.
    ///
    /// # Errors
    ///
    /// When the log cannot be read. Then no child is started.
    fn completed_turns(&self) -> Result<SessionPrefix, BoxError>;
}

impl ParentLog for Session {
    fn completed_turns(&self) -> Result<SessionPrefix, BoxError> {
        Ok(self.completed_prefix())
    }
}

impl Parent {
    /// Sets the log that children can be forked from.
    #[must_use]
    pub fn with_log(self, log: impl ParentLog) -> Self {
        self.change(|fields| fields.log = Some(Log(Arc::new(log))))
    }

    /// The log that children can be forked from.
    #[must_use]
    pub fn log(&self) -> Option<&dyn ParentLog> {
        self.0.log.as_ref().map(|log| &*log.0)
    }
}

/// A log of any kind.
#[derive(Clone)]
pub(super) struct Log(pub(super) Arc<dyn ParentLog>);

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParentLog")
    }
}
