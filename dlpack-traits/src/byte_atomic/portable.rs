//! Byte-wise atomic copies in Rust, for architectures without a routine of their own and
//! for tools that interpret the program.

use core::sync::atomic::{AtomicU8, Ordering};

/// # Safety
///
/// Those of [`super::copy_from_shared`].
pub(super) unsafe fn copy_from_shared(from: *const u8, to: *mut u8, len: usize) {
    for index in 0..len {
        // SAFETY: by 1 it is one of the bytes.
        let from = unsafe { from.add(index) };
        // SAFETY: it is valid for reads and writes by 1, and by 2 all other accesses are
        // reads or atomics of this size. A byte is always aligned.
        let byte = unsafe { AtomicU8::from_ptr(from.cast_mut()) }.load(Ordering::Relaxed);
        // SAFETY: by 3 it is one of the bytes.
        let to = unsafe { to.add(index) };
        // SAFETY: it may be written by 3.
        unsafe { to.write(byte) };
    }
}

/// # Safety
///
/// Those of [`super::copy_from_read_only`].
#[cfg(not(miri))]
pub(super) unsafe fn copy_from_read_only(from: *const u8, to: *mut u8, len: usize) {
    for index in 0..len {
        // SAFETY: by 1 it is one of the bytes.
        let from = unsafe { from.add(index) };
        // SAFETY: it is initialised, alive during the call, and aligned, as any byte is.
        // Only a relaxed load of one byte goes through the reference, which the standard
        // library documents to work on read-only memory. By 2 all other accesses are
        // reads or atomics of this size.
        let byte = unsafe { &*from.cast::<AtomicU8>() }.load(Ordering::Relaxed);
        // SAFETY: by 3 it is one of the bytes.
        let to = unsafe { to.add(index) };
        // SAFETY: it may be written by 3.
        unsafe { to.write(byte) };
    }
}

/// Stacked Borrows has no reference to an atomic that was made from a `&[T]`, and the
/// stable library has no atomic load without such a reference. So Miri sees ordinary
/// loads, and a test must not write this memory meanwhile.
///
/// # Safety
///
/// Those of [`super::copy_from_read_only`], and no one writes to `from` during the call.
#[cfg(miri)]
pub(super) unsafe fn copy_from_read_only(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: `from` may be read by 1, `to` may be written by 3, and they do not overlap.
    unsafe { from.copy_to_nonoverlapping(to, len) };
}

/// # Safety
///
/// Those of [`super::copy_to_shared`].
pub(super) unsafe fn copy_to_shared(from: *const u8, to: *mut u8, len: usize) {
    for index in 0..len {
        // SAFETY: by 1 it is one of the bytes.
        let from = unsafe { from.add(index) };
        // SAFETY: it may be read by 1.
        let byte = unsafe { from.read() };
        // SAFETY: by 2 it is one of the bytes.
        let to = unsafe { to.add(index) };
        // SAFETY: it is valid for reads and writes by 2, and by 3 all other accesses are
        // atomics of this size. A byte is always aligned.
        unsafe { AtomicU8::from_ptr(to) }.store(byte, Ordering::Relaxed);
    }
}

/// # Safety
///
/// Those of [`super::copy_from_shared`].
#[inline(always)]
pub(super) unsafe fn load(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: 1. to 3. are 1. to 3. of this function.
    unsafe { copy_from_shared(from, to, len) }
}

/// # Safety
///
/// Those of [`super::copy_from_read_only`].
#[inline(always)]
pub(super) unsafe fn load_read_only(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: 1. to 3. are 1. to 3. of this function.
    unsafe { copy_from_read_only(from, to, len) }
}

/// # Safety
///
/// Those of [`super::copy_to_shared`].
#[inline(always)]
pub(super) unsafe fn store(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: 1. to 3. are 1. to 3. of this function.
    unsafe { copy_to_shared(from, to, len) }
}
