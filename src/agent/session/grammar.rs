use super::{AppendError, SessionEventKind};

/// Which event may come next: the one place that knows what a well-formed log is.
///
/// A turn that was interrupted may end with calls that have no result. Their results may still come after the
/// turn's end, and must before the next turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Grammar {
    pub(super) turn_open: bool,
    pub(super) step_open: bool,
    pub(super) unanswered: Vec<String>,
}

impl Grammar {
    pub(super) fn accept(&mut self, kind: &SessionEventKind) -> Result<(), AppendError> {
        let event = name(kind);
        match kind {
            SessionEventKind::TurnStart => {
                if self.turn_open {
                    return Err(AppendError::TurnOpen);
                }
                self.all_answered(event)?;
                self.turn_open = true;
            }
            SessionEventKind::TurnEnd { .. } => {
                self.between_steps(event)?;
                self.turn_open = false;
            }
            SessionEventKind::StepStart => {
                self.between_steps(event)?;
                self.all_answered(event)?;
                self.step_open = true;
            }
            SessionEventKind::StepEnd { .. } => {
                self.in_step(event)?;
                self.step_open = false;
            }
            SessionEventKind::User(_) => {
                self.between_steps(event)?;
                self.all_answered(event)?;
            }
            SessionEventKind::Assistant(_) => {
                self.in_step(event)?;
                self.all_answered(event)?;
            }
            SessionEventKind::ToolCall(call) => {
                self.in_step(event)?;
                if call.id.is_empty() || self.unanswered.contains(&call.id) {
                    return Err(AppendError::CallId { call: call.id.clone() });
                }
                self.unanswered.push(call.id.clone());
            }
            SessionEventKind::ToolResult(result) => {
                let Some(index) = self.unanswered.iter().position(|id| *id == result.id) else {
                    return Err(AppendError::UnknownCall { call: result.id.clone() });
                };
                self.unanswered.remove(index);
            }
            SessionEventKind::Metadata { .. } => {}
        }
        Ok(())
    }

    fn between_steps(&self, event: &'static str) -> Result<(), AppendError> {
        if !self.turn_open {
            Err(AppendError::NoTurn { event })
        } else if self.step_open {
            Err(AppendError::StepOpen { event })
        } else {
            Ok(())
        }
    }

    fn in_step(&self, event: &'static str) -> Result<(), AppendError> {
        if self.step_open { Ok(()) } else { Err(AppendError::NoStep { event }) }
    }

    fn all_answered(&self, event: &'static str) -> Result<(), AppendError> {
        match self.unanswered.first() {
            None => Ok(()),
            Some(call) => Err(AppendError::Unanswered { call: call.clone(), event }),
        }
    }
}

fn name(kind: &SessionEventKind) -> &'static str {
    match kind {
        SessionEventKind::TurnStart => "turn_start",
        SessionEventKind::TurnEnd { .. } => "turn_end",
        SessionEventKind::StepStart => "step_start",
        SessionEventKind::StepEnd { .. } => "step_end",
        SessionEventKind::User(_) => "user",
        SessionEventKind::Assistant(_) => "assistant",
        SessionEventKind::ToolCall(_) => "tool_call",
        SessionEventKind::ToolResult(_) => "tool_result",
        SessionEventKind::Metadata { .. } => "metadata",
    }
}
