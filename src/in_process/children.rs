use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::agent::Session;
use crate::id::SessionId;
use crate::sync::lock;

/// The children of one provider that are not disposed of. Clones are one list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Children(Arc<Mutex<HashMap<SessionId, Session>>>);

impl Children {
    /// Lists a child until the guard is dropped.
    pub(super) fn list(&self, session: &Session) -> Listed {
        let id = session.header().id.clone();
        lock(&self.0).insert(id.clone(), session.clone());
        Listed { children: self.clone(), id }
    }

    /// The sessions of all children, the earliest first.
    pub(crate) fn sessions(&self) -> Vec<Session> {
        let mut sessions: Vec<_> = lock(&self.0).values().cloned().collect();
        sessions.sort_by(|one, other| one.header().id.cmp(&other.header().id));
        sessions
    }
}

/// Dropped, the child is off the list.
pub(super) struct Listed {
    children: Children,
    id: SessionId,
}

impl Drop for Listed {
    fn drop(&mut self) {
        let session = lock(&self.children.0).remove(&self.id);
        drop(session);
    }
}
