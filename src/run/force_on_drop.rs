use std::sync::Arc;

use super::RunCell;

/// Settles the run when it is dropped, unless it is settled.
pub(super) struct ForceOnDrop(pub(super) Arc<RunCell>);

impl Drop for ForceOnDrop {
    fn drop(&mut self) {
        self.0.force();
    }
}
