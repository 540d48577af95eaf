//! Who waits for a run to get on: a wake-up costs no lock but the state's own.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::closed::{wake, wake_one};
use super::{RunCell, State};
use crate::sync::lock;

/// The wakers of those who wait for a change of the run's state. Nearly always there is one.
#[derive(Default)]
pub(super) struct Waiters {
    first: Option<(u64, Waker)>,
    others: Vec<(u64, Waker)>,
    latest: u64,
}

impl Waiters {
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none() && self.others.is_empty()
    }

    /// Takes all of them out, to be woken outside of the lock.
    pub(super) fn take(&mut self) -> Woken {
        Woken { first: self.first.take(), others: std::mem::take(&mut self.others) }
    }

    /// Adds a waiter or renews its waker; what it replaces is left in `waker`, to be dropped outside of the lock.
    fn keep(&mut self, waiter: Option<u64>, waker: &mut Option<Waker>) -> u64 {
        let waiter = waiter.unwrap_or_else(|| {
            self.latest += 1;
            self.latest
        });
        let Some(new) = waker.take() else { return waiter };
        let kept = self.first.iter_mut().chain(&mut self.others).find(|(kept, _)| *kept == waiter);
        if let Some((_, earlier)) = kept {
            *waker = Some(std::mem::replace(earlier, new));
        } else if self.first.is_none() {
            self.first = Some((waiter, new));
        } else {
            self.others.push((waiter, new));
        }
        waiter
    }

    fn remove(&mut self, waiter: u64) -> Option<Waker> {
        if let Some((_, waker)) = self.first.take_if(|(first, _)| *first == waiter) {
            return Some(waker);
        }
        let at = self.others.iter().position(|(other, _)| *other == waiter)?;
        Some(self.others.swap_remove(at).1)
    }
}

/// Waiters that have been taken out.
#[must_use = "they wait until they are woken"]
pub(super) struct Woken {
    first: Option<(u64, Waker)>,
    others: Vec<(u64, Waker)>,
}

impl Woken {
    pub(super) fn wake(self) {
        if let Some((_, waker)) = self.first {
            wake_one(waker);
        }
        wake(self.others);
    }
}

impl RunCell {
    /// Returns what `look` finds in the state, once it finds something.
    pub(super) fn until<T, L>(&self, look: L) -> Until<'_, L>
    where
        L: FnMut(&mut State) -> Option<T> + Unpin,
    {
        Until { cell: self, look, waiter: None }
    }
}

pub(super) struct Until<'a, L> {
    cell: &'a RunCell,
    look: L,
    /// Set while it waits.
    waiter: Option<u64>,
}

impl<T, L: FnMut(&mut State) -> Option<T> + Unpin> Future for Until<'_, L> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        // Wakers are foreign code: cloned and dropped outside of the lock.
        let mut waker = Some(context.waker().clone());
        let mut state = lock(&this.cell.state);
        if let Some(found) = (this.look)(&mut state) {
            let earlier = this.waiter.take().and_then(|waiter| state.waiters.remove(waiter));
            drop(state);
            drop(earlier);
            return Poll::Ready(found);
        }
        this.waiter = Some(state.waiters.keep(this.waiter, &mut waker));
        drop(state);
        Poll::Pending
    }
}

impl<L> Drop for Until<'_, L> {
    fn drop(&mut self) {
        if let Some(waiter) = self.waiter {
            let waker = lock(&self.cell.state).waiters.remove(waiter);
            drop(waker);
        }
    }
}
