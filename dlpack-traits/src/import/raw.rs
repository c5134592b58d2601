//! Reads the fields of a foreign struct, each once.

use core::ptr::NonNull;
use core::slice;

use super::validate::RawMetadata;
use crate::error::Error;
use crate::ffi::DLTensor;
use crate::flags::Flags;
use crate::managed::Abi;
use crate::strides::MAX_NDIM;

/// Reads a struct, if its version is supported.
///
/// # Safety
///
/// 1. 1 and 3 of [`ImportedTensor::from_raw`](super::ImportedTensor::from_raw) hold for `managed`, for
///    `'a`, and it is not NULL.
#[inline(always)]
pub(super) unsafe fn read_managed<'a, A: Abi>(
    managed: NonNull<A>,
) -> Result<RawMetadata<'a>, Error> {
    // SAFETY: 1. Guaranteed by our caller's 1.
    let version = unsafe { A::version_of(managed) };
    if let Some(found) = version.filter(|version| !version.is_readable()) {
        return Err(Error::VersionUnsupported { found });
    }
    // SAFETY: by 1 the whole struct exists, because its major version is 1.
    let copy = unsafe { managed.read() };
    // SAFETY: 1. Guaranteed by our caller's 1.
    let claims = unsafe { read_tensor(copy.tensor(), copy.flags()) }?;
    Ok(RawMetadata { version, ..claims })
}

/// Reads a tensor without a version.
///
/// # Safety
///
/// 1. 3 of [`ImportedTensor::from_raw`](super::ImportedTensor::from_raw) holds for `tensor`, for `'a`.
#[inline(always)]
pub(super) unsafe fn read_tensor<'a>(
    tensor: &DLTensor,
    flags: Flags,
) -> Result<RawMetadata<'a>, Error> {
    let ndim = tensor.ndim;
    let ndim = usize::try_from(ndim).map_err(|_| Error::NegativeRank { ndim })?;
    if ndim > MAX_NDIM {
        return Err(Error::TooManyDims { ndim });
    }
    // SAFETY: 1. By 1 the array is NULL or has `ndim` entries, at most 64.
    let shape = unsafe { read_array(tensor.shape, ndim) }.ok_or(Error::NullShape { ndim })?;
    // SAFETY: 1. As above.
    let strides = unsafe { read_array(tensor.strides, ndim) };
    Ok(RawMetadata {
        version: None,
        flags,
        data: tensor.data.cast(),
        byte_offset: tensor.byte_offset,
        device: tensor.device.into(),
        dtype: tensor.dtype.into(),
        shape,
        strides,
    })
}

/// The numbers of an array; `None` if it is NULL. An array without entries is not read.
///
/// # Safety
///
/// 1. `array` is NULL, or points to `len` aligned, initialized numbers, which no thread
///    writes for `'a`; or `len` is 0.
#[inline(always)]
pub(crate) unsafe fn read_array<'a>(array: *const i64, len: usize) -> Option<&'a [i64]> {
    if len == 0 {
        Some(&[])
    } else if array.is_null() {
        None
    } else {
        // SAFETY: by 1 the numbers are initialized, aligned and not written for `'a`.
        Some(unsafe { slice::from_raw_parts(array, len) })
    }
}
