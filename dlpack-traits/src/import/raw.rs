//! Reading a foreign struct: the only place that follows its pointers.

use core::ptr::NonNull;

use super::axes::Axes;
use super::checked::Claims;
use crate::error::Error;
use crate::ffi::DLTensor;
use crate::flags::Flags;
use crate::layout::MAX_NDIM;
use crate::managed::Abi;

/// Reads what a struct says, once, if it is of a version that can be read. Its arrays
/// are copied into `axes`.
///
/// # Safety
///
/// 1. and 3. of [`Imported::from_raw`](super::Imported::from_raw), and not NULL.
#[inline(always)]
pub(super) unsafe fn whole<A: Abi>(managed: NonNull<A>, axes: &mut Axes) -> Result<Claims, Error> {
    // SAFETY: 1. is 1. of this function.
    let version = unsafe { A::version_of(managed) };
    if let Some(found) = version.filter(|version| !version.is_readable()) {
        return Err(Error::VersionUnsupported { found });
    }
    // SAFETY: by 1 the struct is whole, since its version is one of ours.
    let copy = unsafe { managed.read() };
    // SAFETY: 1. is 3. of this function.
    let claims = unsafe { claims(copy.tensor(), copy.flags(), axes) }?;
    Ok(Claims { version, ..claims })
}

/// Reads what a tensor says, without a version. Its arrays are copied into `axes`.
///
/// # Safety
///
/// 1. As 3. of [`Imported::from_raw`](super::Imported::from_raw).
#[inline(always)]
pub(super) unsafe fn claims(
    tensor: &DLTensor,
    flags: Flags,
    axes: &mut Axes,
) -> Result<Claims, Error> {
    let ndim = tensor.ndim;
    let ndim = usize::try_from(ndim).map_err(|_| Error::NegativeRank { ndim })?;
    if ndim > MAX_NDIM {
        return Err(Error::TooManyDims { ndim });
    }
    let (shape, strides) = axes.room(ndim)?;
    // SAFETY: by 1 the array is NULL or has `ndim` entries, 64 at the most.
    if !unsafe { copy(tensor.shape, shape) } {
        return Err(Error::NullShape { ndim });
    }
    // SAFETY: as above.
    let has_strides = unsafe { copy(tensor.strides, strides) };
    Ok(Claims {
        version: None,
        flags,
        data: tensor.data.cast(),
        byte_offset: tensor.byte_offset,
        device: tensor.device.into(),
        dtype: tensor.dtype.into(),
        has_strides,
    })
}

/// Copies an array; false if it is NULL. An array without entries is not looked at.
///
/// # Safety
///
/// 1. `array` is NULL, or points to as many initialised and aligned numbers as `into`
///    has, or that has none.
#[inline(always)]
unsafe fn copy(array: *const i64, into: &mut [i64]) -> bool {
    if into.is_empty() {
        return true;
    }
    if array.is_null() {
        return false;
    }
    for (axis, number) in into.iter_mut().enumerate() {
        // SAFETY: by 1 there are as many numbers as `into` has.
        let place = unsafe { array.add(axis) };
        // Volatile: read once, and in place. The two or three numbers that there are
        // take less time than a call of `memcpy`, which they would become.
        // SAFETY: by 1 it is initialised and aligned.
        *number = unsafe { place.read_volatile() };
    }
    true
}
