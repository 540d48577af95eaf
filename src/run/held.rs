use std::sync::Arc;

use super::dispose::reap;
use super::{CancelCause, Run, RunCell};

/// What a handle holds: a run with its cell. Dropped with the run still in it, it cancels the run and has the child
/// disposed of in the background.
pub(super) struct Held<R: Run>(Option<(R, Arc<RunCell>)>);

impl<R: Run> Held<R> {
    pub(super) fn new(run: R, cell: Arc<RunCell>) -> Self {
        Self(Some((run, cell)))
    }

    pub(super) fn run(&self) -> &R {
        &self.both().0
    }

    pub(super) fn cell(&self) -> &Arc<RunCell> {
        &self.both().1
    }

    /// The run and its cell, and with them the care for the child.
    pub(super) fn take(mut self) -> (R, Arc<RunCell>) {
        match self.0.take() {
            Some(both) => both,
            None => unreachable!("only this, at its end, takes the run out"),
        }
    }

    fn both(&self) -> &(R, Arc<RunCell>) {
        match &self.0 {
            Some(both) => both,
            None => unreachable!("the run is there until it is taken out at the end"),
        }
    }
}

impl<R: Run> Drop for Held<R> {
    fn drop(&mut self) {
        if let Some((run, cell)) = self.0.take() {
            // A run that has settled is not cancelled any more.
            cell.cancel(CancelCause::Dropped);
            reap(run, &cell);
        }
    }
}
