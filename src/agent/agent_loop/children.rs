use std::pin::pin;

use super::Turn;
use crate::delegation::wait_for_notice;

/// What a model that is done has of the children in the background.
pub(super) enum Children {
    /// None works, and there is nothing to tell.
    Settled,
    /// There is something to tell, or the turn has to end.
    ToTell,
    /// They say nothing for too long.
    Silent,
}

impl Turn<'_> {
    /// The model is done: waits while a child works and nothing is to be told.
    pub(super) async fn children(&self) -> Children {
        let delegations = self.agent.delegations.shared();
        let inbox = &self.options.inbox;
        loop {
            if inbox.has_messages() || delegations.has_notices() || self.is_cancelled() {
                return Children::ToTell;
            }
            if delegations.nothing_outstanding() {
                return Children::Settled;
            }
            if self.steps_left() == Some(0) {
                return Children::ToTell;
            }
            self.activity.touch();
            let idle = pin!(self.activity.idle(self.limits().idle));
            tokio::select! {
                biased;
                () = self.options.cancellation.cancelled() => {}
                () = inbox.arrived() => {}
                _ = wait_for_notice(delegations) => {}
                () = idle => {
                    let limit = self.limits().idle.unwrap_or_default();
                    // A child at work is no silence of its parent.
                    if delegations.last_activity().is_none_or(|last| last.elapsed() >= limit) {
                        return Children::Silent;
                    }
                }
            }
        }
    }
}
