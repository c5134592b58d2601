//! Byte-wise atomic copies in Rust, for architectures without assembly, and for tools
//! that interpret or instrument the program.

use core::mem::MaybeUninit;
use core::slice;
use core::sync::atomic::{AtomicU8, Ordering};

#[allow(unused_imports, reason = "tests take this file for its copies alone")]
pub(crate) use {copy_from_shared as load, copy_to_shared as store};

#[allow(unused_imports, reason = "tests take this file for its copies alone")]
pub(crate) use super::load_one_by_one as load_four;

/// The most bytes that [`load`] and [`store`] copy, as on x86-64.
#[allow(dead_code, reason = "tests take this file for its copies alone")]
pub(super) const WIDEST: usize = 16;

/// # Safety
///
/// Those of [`super::copy_from_shared`].
pub(crate) unsafe fn copy_from_shared(from: *const u8, to: *mut u8, len: usize) {
    if len == 0 {
        return;
    }
    // SAFETY: the bytes are initialized, alive during the call, and aligned, as any byte
    // is. Only relaxed loads of one byte go through the references, which the standard
    // library documents to work on read-only memory. By 2 all other accesses are reads or
    // atomics of this size.
    let from = unsafe { slice::from_raw_parts(from.cast::<AtomicU8>(), len) };
    // SAFETY: by 3 they may be written, and only this function accesses them.
    let to = unsafe { slice::from_raw_parts_mut(to.cast::<MaybeUninit<u8>>(), len) };
    for (from, to) in from.iter().zip(to) {
        to.write(from.load(Ordering::Relaxed));
    }
}

/// # Safety
///
/// Those of [`super::copy_to_shared`].
pub(crate) unsafe fn copy_to_shared(from: *const u8, to: *mut u8, len: usize) {
    if len == 0 {
        return;
    }
    // SAFETY: the bytes may be read by 1, and no one writes them.
    let from = unsafe { slice::from_raw_parts(from, len) };
    // SAFETY: the bytes are valid for reads and writes by 2, and by 3 all other accesses
    // are atomics of this size. A byte is always aligned.
    let to = unsafe { slice::from_raw_parts(to.cast::<AtomicU8>(), len) };
    for (&from, to) in from.iter().zip(to) {
        to.store(from, Ordering::Relaxed);
    }
}
