//! Blocks of elements: pieces of a tensor that are copied to private memory.

use alloc::alloc::handle_alloc_error;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::mem::MaybeUninit;
use core::{ptr, slice};

use crate::copy::{Part, Run, Source};
use crate::element::{AnyBits, Readable};
use crate::error::Error;

/// Allocates a buffer of at least `bytes` bytes, if there is memory for it; otherwise, and
/// for 0 bytes, the vector has no room.
pub(in crate::import) fn on_heap<T>(bytes: usize) -> Vec<T> {
    let mut buffer = Vec::new();
    let len = bytes.checked_div(size_of::<T>()).unwrap_or(0);
    // Without memory the caller uses a smaller buffer.
    let _ = buffer.try_reserve_exact(len);
    buffer
}

/// Returns a buffer of at least `len` elements: the first one, or a new one on the heap.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
#[inline]
pub(in crate::import) fn at_least<'b, T>(
    len: usize,
    buffer: &'b mut [MaybeUninit<T>],
    heap: &'b mut Vec<T>,
) -> Result<&'b mut [MaybeUninit<T>], Error> {
    if buffer.len() >= len {
        return Ok(buffer);
    }
    let bytes = len.saturating_mul(size_of::<T>());
    heap.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(heap.spare_capacity_mut())
}

/// Ends the process if there was no memory for an element that is larger than a block, as for
/// a `Box` of it. Elements of any bits cause no other error.
#[inline]
pub(in crate::import) fn expect_memory<T: AnyBits>(result: Result<(), Error>) {
    if let Err(Error::OutOfMemory { .. }) = result {
        handle_alloc_error(Layout::new::<T>());
    }
}

/// Borrows a buffer as bytes.
#[inline]
pub(in crate::import) fn as_bytes<T>(buffer: &mut [MaybeUninit<T>]) -> &mut [MaybeUninit<u8>] {
    // SAFETY: it is the same memory, borrowed uniquely. Any bytes, also uninitialized ones,
    // are a valid `MaybeUninit` of either type.
    unsafe { slice::from_raw_parts_mut(buffer.as_mut_ptr().cast(), size_of_val(buffer)) }
}

/// Reads a piece of a tensor to a buffer, and validates its elements.
///
/// # Errors
///
/// [`Error::InvalidBits`].
#[inline]
pub(in crate::import) fn read<'b, T: Readable>(
    piece: Part<'_>,
    source: &Source<'_>,
    buffer: &'b mut [MaybeUninit<T>],
) -> Result<&'b mut [T], Error> {
    // The piece fits in the buffer, and lies in the memory of the tensor.
    read_by(buffer, |to| piece.read_to(source, to))
}

/// Reads the next elements of a run to a buffer, at most as many as fit, and validates them.
///
/// # Errors
///
/// [`Error::InvalidBits`].
#[inline]
pub(in crate::import) fn read_next<'b, T: Readable>(
    run: &mut Run<'_>,
    buffer: &'b mut [MaybeUninit<T>],
) -> Result<&'b mut [T], Error> {
    read_by(buffer, |to| Some(run.read(to)))
}

/// Validates the elements that a function reads to the start of a buffer.
///
/// # Errors
///
/// [`Error::InvalidBits`]; [`Error::SizeOverflow`] if the function reads none.
#[inline(always)]
fn read_by<'b, T: Readable>(
    buffer: &'b mut [MaybeUninit<T>],
    read: impl FnOnce(&'b mut [MaybeUninit<u8>]) -> Option<&'b mut [u8]>,
) -> Result<&'b mut [T], Error> {
    let start = buffer.as_mut_ptr().cast::<u8>();
    let bytes = read(as_bytes(buffer));
    let bytes = bytes.filter(|bytes| ptr::eq(bytes.as_ptr(), start)).ok_or(Error::SizeOverflow)?;
    if !T::are_valid(bytes) {
        return Err(Error::InvalidBits { dtype: T::DTYPE });
    }
    let len = bytes.len().checked_div(size_of::<T>()).unwrap_or(0);
    // SAFETY: the bytes begin where `buffer` does, so they are aligned. They are borrowed
    // uniquely, and `len` elements, all initialized, and by 1 of `Readable` valid values.
    Ok(unsafe { slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), len) })
}

/// Returns the value with these bytes, if they are a valid value.
///
/// # Safety
///
/// 1. All bytes are initialized.
#[inline(always)]
pub(in crate::import) unsafe fn checked<T: Readable>(element: MaybeUninit<T>) -> Result<T, Error> {
    // SAFETY: by 1 the bytes of the local variable are initialized.
    let own_bytes = unsafe { slice::from_raw_parts(element.as_ptr().cast(), size_of::<T>()) };
    if !T::are_valid(own_bytes) {
        return Err(Error::InvalidBits { dtype: T::DTYPE });
    }
    // SAFETY: by 1 of `Readable` valid bytes are a value.
    Ok(unsafe { element.assume_init() })
}
