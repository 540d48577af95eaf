use std::fmt;
use std::sync::Arc;

use super::RunCell;
use crate::update::Update;

/// Where a provider reports what its child does. Cheap to clone; after the run has settled, reports go nowhere.
#[derive(Clone)]
pub struct Progress {
    cell: Arc<RunCell>,
}

impl Progress {
    pub(crate) fn new(cell: Arc<RunCell>) -> Self {
        Self { cell }
    }

    /// Reports one update. The text of a run that settles without output becomes its output.
    pub fn report(&self, update: Update) {
        self.cell.report(update);
    }

    /// Reports a piece of text.
    pub fn text(&self, text: impl Into<String>) {
        self.report(Update::text(text));
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Progress").field("run_id", &self.cell.identity.run_id).finish()
    }
}
