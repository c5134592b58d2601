//! Allocates vectors with an error in place of an abort: [`try_vec`].

use alloc::vec::Vec;

use super::huge_pages::prefer_huge_pages;
use crate::error::Error;

/// Allocates an empty vector with a capacity of at least `len` elements.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
#[inline]
pub(crate) fn try_vec<T>(len: usize) -> Result<Vec<T>, Error> {
    let bytes = len.saturating_mul(size_of::<T>());
    let mut list = Vec::<T>::new();
    list.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
    prefer_huge_pages(list.as_ptr().addr(), bytes);
    Ok(list)
}
