//! Aligned, initialized host memory: [`AlignedBuf`].

use alloc::alloc::{alloc_zeroed, dealloc};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::try_alloc::prefer_huge_pages;
use crate::element::{Element, SizeMatches};
use crate::error::Error;

/// Alignment, in bytes, of every allocation that this crate makes for elements. JAX and
/// TensorFlow need it to import memory without a copy.
pub(crate) const ALIGNMENT: usize = 64;

/// Alignment that is requested from the allocator; `AlignedBuf` aligns the rest by an offset.
/// For a larger alignment the common allocators do not use fresh pages, which are zero
/// already, but write zeros to all of the memory.
const ASKED: usize = 16;

/// Initialized host memory: new memory, zeroed and aligned to [`ALIGNMENT`] bytes, or that of
/// a `Vec`, aligned for its elements.
///
/// It returns its address but no reference, so its owner decides who may read and write.
#[derive(Debug)]
pub(crate) struct AlignedBuf {
    /// The first byte, which is aligned.
    ptr: NonNull<u8>,
    byte_len: usize,
    /// The address that the allocator returned; dangling if `layout` has no bytes.
    start: NonNull<u8>,
    /// The layout that the allocator was called with.
    layout: Layout,
}

// SAFETY: a block stores only addresses and a length; moving those to another thread, and
// freeing the memory there, is allowed by the allocator.
unsafe impl Send for AlignedBuf {}
// SAFETY: a shared block only returns copies of its address and length.
unsafe impl Sync for AlignedBuf {}

impl AlignedBuf {
    /// Allocates `byte_len` zeroed bytes.
    pub(crate) fn zeroed(byte_len: usize) -> Result<Self, Error> {
        let layout = Self::layout(byte_len).ok_or(Error::OutOfMemory { bytes: byte_len })?;
        // SAFETY: the layout has a size of at least one byte.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).ok_or(Error::OutOfMemory { bytes: byte_len })?;
        prefer_huge_pages(start.addr().get(), byte_len);
        let skipped = start.addr().get().wrapping_neg() & ALIGNMENT.wrapping_sub(1);
        // The allocation is aligned to `ASKED`, so `skipped` is at most the number of bytes that
        // the layout has beyond `byte_len`, and the address does not saturate.
        let ptr = start.map_addr(|start| start.saturating_add(skipped));
        Ok(Self { ptr, byte_len, start, layout })
    }

    /// Allocates `byte_len` bytes, which are zeroed, and lends them to `fill`.
    pub(crate) fn filled(
        byte_len: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let block = Self::zeroed(byte_len)?;
        // SAFETY: the block is new, and owns these initialized bytes; no other code has a copy
        // of their address.
        fill(unsafe { core::slice::from_raw_parts_mut(block.ptr.as_ptr(), byte_len) })?;
        Ok(block)
    }

    /// Takes over the memory of a vector, zero-copy.
    pub(crate) fn from_vec<T: Element>(elements: Vec<T>) -> Self {
        let () = SizeMatches::<T>::OK;
        // Elements are `Copy`, so only the allocation has to be freed.
        let mut elements = ManuallyDrop::new(elements);
        let byte_len = size_of_val(elements.as_slice());
        // The allocation exists, so its layout is valid.
        let layout = Layout::array::<T>(elements.capacity()).unwrap_or(Layout::new::<()>());
        // The pointer of a `Vec` is never NULL. It may be used for the whole capacity, that of
        // a slice may not.
        let start = NonNull::new(elements.as_mut_ptr().cast()).unwrap_or(NonNull::dangling());
        Self { ptr: start, byte_len, start, layout }
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

    /// The layout of the allocation for `byte_len` bytes: at least one byte, so that an
    /// empty block has an address too, and room for the offset that aligns the block.
    fn layout(byte_len: usize) -> Option<Layout> {
        let room = byte_len.max(1).checked_add(const { ALIGNMENT.wrapping_sub(ASKED) })?;
        Layout::from_size_align(room, ASKED).ok()
    }
}

impl Drop for AlignedBuf {
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: `zeroed`, or a `Vec` with this layout for its capacity, allocated
            // `start` with the global allocator in this layout.
            unsafe { dealloc(self.start.as_ptr(), self.layout) }
        }
    }
}
