//! Aligned, zeroed host memory: [`Block`].

use alloc::alloc::{alloc_zeroed, dealloc};
use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::Error;

/// Alignment, in bytes, of every allocation that this crate makes for
/// elements: what JAX and TensorFlow need to take memory without a copy.
pub(crate) const ALIGNMENT: usize = 64;

/// Alignment that is asked of the allocator; the rest is skipped. For more than
/// this the usual ones have no fresh pages that are zero already, but write zeros
/// to all of the memory.
const ASKED: usize = 16;

/// Bytes from which memory is better had in huge pages: two of them at least.
#[cfg(all(target_os = "linux", feature = "pyo3", not(miri)))]
const HUGE: usize = 4 << 20;

/// Asks for huge pages. Without them a large copy spends most of its time with the
/// system, which hands out one page after the other; NumPy asks for them too.
#[cfg(all(target_os = "linux", feature = "pyo3", not(miri)))]
fn prefer_huge_pages(start: NonNull<u8>, byte_len: usize) {
    /// The smallest page of any system of today divides it.
    const PAGE: usize = 1 << 16;
    let skipped = start.addr().get().wrapping_neg() & PAGE.wrapping_sub(1);
    let whole = byte_len.saturating_sub(skipped) & !PAGE.wrapping_sub(1);
    // SAFETY: the pages lie inside of an allocation of that many bytes. The advice
    // changes none of them, and whether it is taken changes nothing but time.
    unsafe {
        libc::madvise(start.as_ptr().wrapping_add(skipped).cast(), whole, libc::MADV_HUGEPAGE)
    };
}

/// Zeroed host memory that is aligned to [`ALIGNMENT`] bytes.
///
/// It gives out its address and no reference, so whoever holds it decides who
/// may read and write.
#[derive(Debug)]
pub(crate) struct Block {
    /// The first byte, which is aligned.
    ptr: NonNull<u8>,
    byte_len: usize,
    /// What the allocator gave.
    start: NonNull<u8>,
}

// SAFETY: a block only says an address and a length; moving those to another
// thread, and freeing the memory there, is allowed by the allocator.
unsafe impl Send for Block {}
// SAFETY: a shared block gives out copies of its address and length, nothing else.
unsafe impl Sync for Block {}

impl Block {
    /// `byte_len` zeroed bytes.
    pub(crate) fn zeroed(byte_len: usize) -> Result<Self, Error> {
        let layout = Self::layout(byte_len).ok_or(Error::OutOfMemory { bytes: byte_len })?;
        // SAFETY: the layout has a size of at least one byte.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or(Error::OutOfMemory { bytes: byte_len })?;
        #[cfg(all(target_os = "linux", feature = "pyo3", not(miri)))]
        if byte_len >= HUGE {
            prefer_huge_pages(start, byte_len);
        }
        let skipped = start.addr().get().wrapping_neg() & ALIGNMENT.wrapping_sub(1);
        // SAFETY: the allocation is aligned to `ASKED`, so less is skipped than
        // the layout has beyond `byte_len`.
        let ptr = unsafe { start.add(skipped) };
        Ok(Self { ptr, byte_len, start })
    }

    /// First byte.
    #[inline]
    pub(crate) const fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// Length in bytes.
    #[inline]
    pub(crate) const fn byte_len(&self) -> usize {
        self.byte_len
    }

    /// The bytes, of a block whose address nobody else has been given.
    ///
    /// # Safety
    ///
    /// 1. No copy of the address is in use while the slice lives.
    pub(crate) unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the block owns these initialised bytes, is borrowed uniquely,
        // and by 1 nobody uses a copy of its address.
        unsafe { core::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.byte_len) }
    }

    /// What is allocated for `byte_len` bytes: one at least, so that a zero
    /// length has an address too, and as many more as may have to be skipped.
    fn layout(byte_len: usize) -> Option<Layout> {
        let room = byte_len.max(1).checked_add(const { ALIGNMENT.wrapping_sub(ASKED) })?;
        Layout::from_size_align(room, ASKED).ok()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.byte_len) {
            // SAFETY: `zeroed` allocated `start` with the layout of this very length.
            unsafe { dealloc(self.start.as_ptr(), layout) }
        }
    }
}
