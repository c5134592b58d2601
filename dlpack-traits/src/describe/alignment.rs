//! The alignment of elements, and its checks: [`check_alignment`] in exports,
//! [`check_imported`] where imported memory is used as elements of its own type. Imports as
//! slices of a Rust type check the alignment of that type (`import::typed`).

use crate::device::Device;
use crate::dtype::DataType;
use crate::error::Error;
use crate::ffi;
use crate::storage::Memory;

/// Checks that the first element, and therefore every other, is aligned, and lies a
/// multiple of the storage's element size from its start.
///
/// Strides count elements, so both properties of the first element hold for all of them.
#[inline]
pub(super) fn check_alignment(
    memory: &Memory,
    byte_offset: u64,
    dtype: DataType,
) -> Result<(), Error> {
    if byte_offset != 0 {
        if let Some(size) = memory.element_size() {
            // The producer of a foreign handle chooses the offset freely.
            let anywhere = memory.foreign.is_some() && !memory.device.has_addresses();
            if byte_offset.checked_rem(size as u64) != Some(0) && !anywhere {
                return Err(Error::Misaligned { dtype, align: size });
            }
        }
    }
    let address = (memory.ptr.addr() as u64).wrapping_add(byte_offset);
    match alignment(dtype) {
        // A multiple of a power of two has only zeros in the bits below it.
        Some(align)
            if memory.device.has_addresses()
                && address & (align as u64).wrapping_sub(1) != 0
                && !memory.vouches_for(dtype) =>
        {
            Err(Error::Misaligned { dtype, align })
        }
        _ => Ok(()),
    }
}

/// Checks that the first element of an imported tensor is aligned. On a device without
/// addresses there is nothing to check.
///
/// # Errors
///
/// [`Error::Misaligned`].
pub(crate) fn check_imported(first: *const u8, dtype: DataType, on: Device) -> Result<(), Error> {
    let align = alignment(dtype).unwrap_or(1);
    if on.has_addresses() && first.addr() & align.wrapping_sub(1) != 0 {
        return Err(Error::Misaligned { dtype, align });
    }
    Ok(())
}

/// The alignment of an element, in bytes: the size of one lane, or of one part of a complex
/// number. `None` for packed elements.
#[inline]
pub(crate) const fn alignment(dtype: DataType) -> Option<usize> {
    match (dtype.code(), dtype.bits()) {
        (ffi::kDLComplex, 32) | (_, 16) => Some(2),
        (ffi::kDLComplex, 64) | (_, 32) => Some(4),
        (ffi::kDLComplex, 128) | (_, 64) => Some(8),
        (_, 128) => Some(16),
        (_, 8) => Some(1),
        _ => None,
    }
}
