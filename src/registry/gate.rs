use std::sync::atomic::{AtomicUsize, Ordering};

/// Set once nothing new may be published.
const CLOSED: usize = 1 << (usize::BITS - 1);
/// Set once the removal is to be told.
const REMOVED: usize = CLOSED >> 1;
/// The other bits count the publications under way.
const PUBLISHING: usize = REMOVED - 1;

/// Whether runs may still be published here, and how many are being published just now: a removal is told after those,
/// by whoever is last, so that no run starts after its provider is gone.
#[derive(Default)]
pub(super) struct Gate(AtomicUsize);

impl Gate {
    pub(super) fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire) & CLOSED == 0
    }

    pub(super) fn close(&self) {
        self.0.fetch_or(CLOSED, Ordering::AcqRel);
    }

    /// Begins a publication, unless the gate is closed.
    pub(super) fn enter(&self) -> bool {
        let entered = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
            (state & CLOSED == 0).then_some(state + 1)
        });
        entered.is_ok()
    }

    /// Ends a publication; `true` where the removal is now to be told.
    pub(super) fn leave(&self) -> bool {
        let before = self.0.fetch_sub(1, Ordering::AcqRel);
        before & PUBLISHING == 1 && before & REMOVED != 0
    }

    /// Marks a closed gate's provider as removed; `true` where that is to be told at once.
    pub(super) fn remove(&self) -> bool {
        let before = self.0.fetch_or(REMOVED, Ordering::AcqRel);
        before & PUBLISHING == 0
    }
}
