//! An allocator that counts while it is told to.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

static ON: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static LIVE_BYTES: AtomicI64 = AtomicI64::new(0);

/// The system's allocator, counted.
pub struct Counting;

fn count(allocations: u64, bytes: i64) {
    if ON.load(Relaxed) {
        ALLOCATIONS.fetch_add(allocations, Relaxed);
        LIVE_BYTES.fetch_add(bytes, Relaxed);
    }
}

fn signed(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}

#[expect(
    unsafe_code,
    reason = "an allocator cannot be written without; each call goes to the system's as it is"
)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, signed(layout.size()));
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -signed(layout.size()));
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(1, signed(size) - signed(layout.size()));
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Counts from here on.
pub fn start() {
    ON.store(true, Relaxed);
}

/// Counts no more.
pub fn stop() {
    ON.store(false, Relaxed);
}

/// How many allocations were counted so far.
pub fn allocations() -> u64 {
    ALLOCATIONS.load(Relaxed)
}

/// How many bytes that were counted are live.
pub fn live_bytes() -> i64 {
    LIVE_BYTES.load(Relaxed)
}
