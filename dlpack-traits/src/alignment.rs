//! The alignment of elements, and its checks: [`check_alignment`] in exports,
//! [`check_imported`] where imported memory is used as elements of its own type. Imports as
//! slices of a Rust type check the alignment of that type (`import::elements::typed`,
//! `import::imported_slice`, `backend::gpu::cudarc`). Elements that are read or written by
//! value may have any alignment. `describe::fast` repeats the test of exports.

use crate::device::Device;
use crate::dtype::{DataType, WholeBytes};
use crate::error::Error;
use crate::storage::Memory;

/// Checks that the first element is aligned and that `byte_offset` is a multiple of the
/// element size of the storage.
///
/// Strides count elements, so both then hold for every element.
#[inline]
pub(crate) fn check_alignment(
    memory: &Memory,
    byte_offset: u64,
    dtype: DataType,
) -> Result<(), Error> {
    if byte_offset != 0 {
        if let Some(size) = memory.element_size() {
            if byte_offset.checked_rem(size as u64) != Some(0) {
                return Err(Error::Misaligned { dtype, align: size });
            }
        }
    }
    let address = (memory.window.data.addr() as u64).wrapping_add(byte_offset);
    match alignment(dtype, memory.device) {
        // A multiple of a power of two has only zeros in the bits below it.
        Some(align)
            if memory.window.in_object.is_none()
                && address & (align as u64).wrapping_sub(1) != 0
                && !memory.vouches_for(dtype) =>
        {
            Err(Error::Misaligned { dtype, align })
        }
        _ => Ok(()),
    }
}

/// Checks that the address of the first element of an imported tensor is aligned.
///
/// # Errors
///
/// [`Error::Misaligned`].
pub(crate) fn check_imported(first: *const u8, dtype: DataType, on: Device) -> Result<(), Error> {
    let align = alignment(dtype, on).unwrap_or(1);
    if first.addr() & align.wrapping_sub(1) != 0 {
        return Err(Error::Misaligned { dtype, align });
    }
    Ok(())
}

/// The alignment of an element, in bytes: the size of one lane, or of one part of a complex
/// number. Host memory needs at most that of Rust's integer of the same size: 4 bytes for 64 bits
/// on `i686`. `None` for packed elements.
#[inline]
pub(crate) const fn alignment(dtype: DataType, device: Device) -> Option<usize> {
    let part = part_bits(dtype);
    if part < 8 || !part.is_power_of_two() {
        None
    } else {
        Some(of_part((part >> 3) as usize, device))
    }
}

/// As [`alignment`], of a type of whole bytes.
#[inline(always)]
pub(crate) const fn whole_byte_alignment(element: WholeBytes, device: Device) -> usize {
    of_part(element.part, device)
}

/// Bits of one lane, or of one part of a complex number.
#[inline(always)]
const fn part_bits(dtype: DataType) -> u8 {
    if dtype.is_complex() { dtype.bits() >> 1 } else { dtype.bits() }
}

/// The alignment of a lane, or of one part of a complex number, of that size in bytes.
#[inline(always)]
const fn of_part(size: usize, device: Device) -> usize {
    match size {
        _ if ALIGNED_BY_SIZE || !device.is_host() => size,
        8 => align_of::<u64>(),
        16 => align_of::<u128>(),
        _ => size,
    }
}

/// Whether the alignment of each of Rust's integers is its size, as on most targets: the device
/// is not read there.
const ALIGNED_BY_SIZE: bool = align_of::<u64>() == 8 && align_of::<u128>() == 16;

#[cfg(test)]
mod tests {
    use super::{alignment, whole_byte_alignment};
    use crate::device::Device;
    use crate::dtype::DataType;
    use crate::ffi::DLDataTypeCode;

    /// The allocator returns a `Vec<f64>` at an address that is aligned for its elements only:
    /// to 4 bytes on `i686`.
    #[test]
    fn host_memory_needs_the_alignment_of_the_target() {
        for (dtype, align) in [
            (DataType::U8, align_of::<u8>()),
            (DataType::F32, align_of::<f32>()),
            (DataType::I64, align_of::<i64>()),
            (DataType::F64, align_of::<f64>()),
            (DataType::COMPLEX64, align_of::<[f32; 2]>()),
            (DataType::COMPLEX128, align_of::<[f64; 2]>()),
        ] {
            assert_eq!(alignment(dtype, Device::CPU), Some(align), "{dtype}");
        }
        assert_eq!(alignment(DataType::F64, Device::cuda(0)), Some(8));
    }

    #[test]
    fn each_type_of_whole_bytes_has_an_alignment() {
        for (code, bits) in
            (0..=u8::MAX).flat_map(|code| (0..=u8::MAX).map(move |bits| (code, bits)))
        {
            let dtype = DataType::new(DLDataTypeCode(code), bits, 1);
            for device in [Device::CPU, Device::cuda(0)] {
                if let Some(element) = dtype.whole_bytes() {
                    let found = Some(whole_byte_alignment(element, device));
                    assert_eq!(alignment(dtype, device), found, "{dtype}");
                }
            }
        }
    }
}
