//! Reading a foreign struct: the only place that follows its pointers.

use core::ptr::NonNull;

use super::checked::Claims;
use crate::dims::Dims;
use crate::error::Error;
use crate::ffi::DLTensor;
use crate::flags::Flags;
use crate::layout::MAX_NDIM;
use crate::managed::{Abi, Release};
use crate::version::Version;

/// Reads everything that a foreign struct says, once, and takes over the duty
/// to call its deleter.
///
/// On an error the deleter has been called, if the pointer is not NULL.
///
/// # Safety
///
/// 1. to 3. of [`Imported::from_raw`](super::Imported::from_raw).
#[inline(always)]
pub(super) unsafe fn take<A: Abi>(managed: *mut A) -> Result<(Release, Claims), Error> {
    let managed = NonNull::new(managed).ok_or(Error::NullTensor)?;
    // From here on every way out calls the deleter.
    // SAFETY: 1. and 2. are 1. and 2. of this function.
    let release = unsafe { A::release_of(managed) };
    // SAFETY: 1. to 3. are those of this function.
    let claims = unsafe { whole(managed) }?;
    Ok((release, claims))
}

/// Reads what a struct says, its arrays included, if it is of a version that can
/// be read.
///
/// # Safety
///
/// 1. to 3. of [`Imported::from_raw`](super::Imported::from_raw).
#[inline(always)]
pub(super) unsafe fn whole<A: Abi>(managed: NonNull<A>) -> Result<Claims, Error> {
    // SAFETY: 1. is 1. of this function.
    let version = unsafe { A::version_of(managed) };
    if let Some(found) = version.filter(|version| !version.is_readable()) {
        return Err(Error::VersionUnsupported { found });
    }
    // SAFETY: by 1 the struct is whole, since its version is one of ours.
    let copy = unsafe { managed.read() };
    // SAFETY: by 3.
    unsafe { claims(copy.tensor(), version, copy.flags()) }
}

/// Reads what a tensor says, its arrays included.
///
/// # Safety
///
/// 1. As 3. of [`Imported::from_raw`](super::Imported::from_raw).
#[inline(always)]
pub(super) unsafe fn claims(
    tensor: &DLTensor,
    version: Option<Version>,
    flags: Flags,
) -> Result<Claims, Error> {
    let ndim = tensor.ndim;
    let ndim = usize::try_from(ndim).map_err(|_| Error::NegativeRank { ndim })?;
    if ndim > MAX_NDIM {
        return Err(Error::TooManyDims { ndim });
    }
    // SAFETY: by 1 the array is NULL or has `ndim` entries, 64 at the most.
    let shape = unsafe { dims(tensor.shape, ndim) }?.ok_or(Error::NullShape { ndim })?;
    // SAFETY: as above.
    let strides = unsafe { dims(tensor.strides, ndim) }?;
    Ok(Claims {
        version,
        flags,
        data: tensor.data.cast(),
        byte_offset: tensor.byte_offset,
        device: tensor.device.into(),
        dtype: tensor.dtype.into(),
        shape,
        strides,
    })
}

/// A copy of an array; `None` if it is NULL. An array without entries is not
/// looked at.
///
/// # Safety
///
/// 1. `array` is NULL, or points to `len` initialised and aligned numbers, or
///    `len` is 0.
#[inline(always)]
unsafe fn dims(array: *const i64, len: usize) -> Result<Option<Dims<'static>>, Error> {
    if len == 0 {
        return Ok(Some(Dims::borrowed(&[])));
    }
    if array.is_null() {
        return Ok(None);
    }
    let copy = |dims: &mut [i64]| {
        // SAFETY: by 1 there are `len` numbers, as many as `dims` has, and
        // `dims` is memory of our own.
        unsafe { array.copy_to_nonoverlapping(dims.as_mut_ptr(), dims.len()) };
        Ok(())
    };
    Dims::filled(len, copy).map(Some)
}
