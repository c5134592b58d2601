//! Aligned host memory for elements: [`AlignedBuf`], which is initialized, and [`BlockBuffer`] for private
//! blocks on the stack.

use alloc::alloc::{alloc_zeroed, dealloc};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ptr::NonNull;
use core::slice;

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

/// Size in bytes of a block. Measured on 10,000 elements with blocks of 4, 8 and 16 KiB: 8 KiB is
/// the fastest or takes 5 percent longer. The block and the memory that it is read from fit in a
/// first-level cache together. Under Miri, which takes microseconds per byte, blocks are small,
/// so that tests have several.
pub(crate) const BLOCK: usize = if cfg!(miri) { 256 } else { 8 << 10 };

/// The number of bytes from which on a tensor is assumed not to be cached near the processor.
pub(crate) const LARGE: usize = 1 << 20;

/// The number of elements in each of the blocks in which `len` elements are read, at least 1. A
/// block has [`BLOCK`] bytes, or half of them if the elements are not cached.
///
/// While a function computes on a block, no instruction reads the next one, and the processor
/// executes few instructions ahead; the shorter the block, the shorter the memory is idle.
/// Measured on a Zen 4 with 16 million elements, as ratios to a slice, for blocks of 2, 4 and 8
/// KiB: maximum of `u8` 1.4, 1.3 and 1.8, sum of `i32` 1.0, 0.9 and 1.5, sum of `f32` 0.9, 0.9 and
/// 1.0. Prefetches of the next block gave 1.5, 2.3 and 1.1. Of 10,000 elements, which are cached,
/// the sum of `f32` takes 2.2 of the slice by 8 KiB, 2.4 by 4, and 2.9 by 2.
pub(crate) fn block_len<T>(len: usize) -> usize {
    let is_large = len.saturating_mul(size_of::<T>()) >= LARGE;
    let bytes = if is_large { BLOCK / 2 } else { BLOCK };
    bytes.checked_div(size_of::<T>()).unwrap_or(0).max(1)
}

/// An aligned, uninitialized buffer on the stack.
#[repr(C, align(64))]
pub(crate) struct BlockBuffer([MaybeUninit<u8>; BLOCK]);

impl BlockBuffer {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self([MaybeUninit::uninit(); BLOCK])
    }

    /// The buffer, as elements: none, if one is larger than the buffer, or requires a larger
    /// alignment. Those are read to memory on the heap: an element of megabytes would overflow the
    /// stack.
    #[inline]
    pub(crate) fn as_mut_slice<T: Copy>(&mut self) -> &mut [MaybeUninit<T>] {
        if const { align_of::<T>() > align_of::<Self>() } {
            return &mut [];
        }
        let len = const { size_of::<Self>() / size_of::<T>() };
        // SAFETY: the buffer is aligned for a `T`. It is as large as `len` of them, and borrowed
        // uniquely. Any bytes are a valid `MaybeUninit`.
        unsafe { slice::from_raw_parts_mut((&raw mut *self).cast(), len) }
    }
}

/// Calls a function with a list of one value, repeated to at least half of a block, or with one of a
/// large value.
#[inline]
pub(crate) fn with_repeated<T: Copy, R>(value: T, f: impl FnOnce(&[T]) -> R) -> R {
    // Not inlined, so that only lists that are used take memory of the stack.
    if const { size_of::<T>() == 1 } {
        with_array::<T, R, BLOCK>(value, f)
    } else if const { size_of::<T>() <= 4 } {
        with_array::<T, R, { BLOCK / 4 }>(value, f)
    } else if const { size_of::<T>() <= 16 } {
        with_array::<T, R, { BLOCK / 16 }>(value, f)
    } else if const { size_of::<T>() <= 64 } {
        with_array::<T, R, { BLOCK / 64 }>(value, f)
    } else {
        f(slice::from_ref(&value))
    }
}

#[inline(never)]
fn with_array<T: Copy, R, const N: usize>(value: T, f: impl FnOnce(&[T]) -> R) -> R {
    f(&[value; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_value_fills_half_of_a_block() {
        fn bytes<T: Copy + PartialEq>(value: T) -> usize {
            with_repeated(value, |list| {
                assert!(list.iter().all(|item| *item == value));
                size_of_val(list)
            })
        }
        for bytes in [bytes(1_u8), bytes([1_u8; 2]), bytes([1_u8; 3]), bytes([1_u8; 4])] {
            assert!((BLOCK / 2..=BLOCK).contains(&bytes), "{bytes}");
        }
        for bytes in [bytes([1_u8; 9]), bytes([1_u8; 16]), bytes([1_u8; 33]), bytes([1_u8; 64])] {
            assert!((BLOCK / 2..=BLOCK).contains(&bytes), "{bytes}");
        }
        assert_eq!(bytes([1_u8; 65]), 65);
    }
}
