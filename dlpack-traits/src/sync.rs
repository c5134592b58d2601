//! The atomics by which owners find out who is the last. `tests/loom` builds this crate
//! with loom's in their place, and tries every order of threads.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
