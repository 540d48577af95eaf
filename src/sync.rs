use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; a panic of an earlier holder does not matter, since no foreign code runs under our locks.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
