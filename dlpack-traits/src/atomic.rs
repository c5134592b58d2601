//! The atomics of the reference counts. `quality/loom` builds this crate with loom's atomics
//! instead, and explores every order of threads.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
