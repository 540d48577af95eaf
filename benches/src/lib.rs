//! What the benchmarks and the checks of the core paths share: a child that is one task, and an allocator that counts.

pub mod counting;
pub mod one_task;
