//! The memory of a `SharedBuffer`: a new block, or that of a `Vec`.

use alloc::alloc::dealloc;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

use super::AlignedBuf;
use crate::element::{AnyBits, BitsAreValid, SizeMatches};

/// Initialised host memory that no reference points to.
///
/// It returns its address but no reference, so its owner decides who may read and write.
#[derive(Debug)]
pub(super) struct SharedMemory {
    ptr: NonNull<u8>,
    byte_len: usize,
    _owner: Owner,
}

/// Frees the memory.
#[derive(Debug)]
enum Owner {
    Aligned { _block: AlignedBuf },
    Vec { _allocation: VecAllocation },
}

/// The allocation of a `Vec` of elements.
#[derive(Debug)]
struct VecAllocation {
    start: NonNull<u8>,
    /// The layout of the whole capacity.
    layout: Layout,
}

// SAFETY: the fields are addresses and numbers; moving those to another thread, and freeing
// the memory there, is allowed by the allocator.
unsafe impl Send for SharedMemory {}
// SAFETY: shared memory only returns copies of its address and length.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Takes over the memory of a `Vec`, zero-copy.
    pub(super) fn from_vec<T: AnyBits>(elements: Vec<T>) -> Self {
        let () = SizeMatches::<T>::OK;
        let () = BitsAreValid::<T>::OK;
        let byte_len = size_of_val(elements.as_slice());
        // Elements are `Copy`, so only the allocation has to be freed.
        let mut elements = ManuallyDrop::new(elements);
        let capacity = elements.capacity();
        // The pointer of a `Vec` is never NULL. It may be used for the whole capacity, that of
        // a slice may not.
        let start = NonNull::new(Vec::as_mut_ptr(&mut elements).cast());
        let start = start.unwrap_or(NonNull::dangling());
        // The allocation exists, so its layout is valid.
        let layout = Layout::array::<T>(capacity).unwrap_or(Layout::new::<()>());
        let _owner = Owner::Vec { _allocation: VecAllocation { start, layout } };
        Self { ptr: start, byte_len, _owner }
    }

    /// First byte.
    #[inline]
    pub(super) const fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }

    /// Length in bytes.
    #[inline]
    pub(super) const fn byte_len(&self) -> usize {
        self.byte_len
    }
}

impl From<AlignedBuf> for SharedMemory {
    fn from(block: AlignedBuf) -> Self {
        let ptr = NonNull::new(block.as_ptr()).unwrap_or(NonNull::dangling());
        Self { ptr, byte_len: block.byte_len(), _owner: Owner::Aligned { _block: block } }
    }
}

impl Drop for VecAllocation {
    fn drop(&mut self) {
        if self.layout.size() != 0 {
            // SAFETY: a `Vec` with this capacity allocated `start` with the global allocator,
            // in the layout of an array of that length, and was not dropped.
            unsafe { dealloc(self.start.as_ptr(), self.layout) }
        }
    }
}
