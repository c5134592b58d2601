//! A foreign tensor as a slice, without other metadata: [`ImportedSlice`].
//!
//! This is the fast path of an import: it reads each number of a struct once, into
//! registers, and makes the checks without which a slice could be wrong. Every other tensor
//! is left to `ImportedTensor`, which reports the error.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::NonNull;
use core::slice;

use super::ImportedTensor;
use super::reader::raw::{Managed, RawLists, RawMetadata, read_once};
use crate::element::{Element, Readable};
use crate::error::Error;
use crate::managed::{Abi, Release};

/// The elements of a foreign tensor as a slice, in row-major order. It owns the tensor: its
/// drop calls the deleter.
///
/// Use it instead of an [`ImportedTensor`] to borrow the elements as a slice when shape and flags
/// are not needed: every check is made, on the numbers that are used, and nothing is copied. For a
/// contiguous tensor that is not empty, of an element type such as `f32`, it allocates nothing
/// and takes about a quarter of the time of an `ImportedTensor`. It allocates as an
/// `ImportedTensor` does if the tensor is empty, and for element types that are arrays or have invalid
/// bit patterns, as `bool` has.
///
/// ```
/// use dlpack_traits::{DLPackExport, Describe, Description, Error, ImportedSlice, Storage};
///
/// struct Samples(Vec<f32>);
///
/// impl DLPackExport for Samples {
///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
///         out.shape(&[2, 2]).data(self.0.data())
///     }
/// }
///
/// let managed = Samples(vec![1.0, 2.0, 3.0, 4.0]).into_dlpack()?.into_raw();
/// // SAFETY: 1. to 4. `into_raw` returned a valid struct, whose owner we are now.
/// // 5. and 6. No one else accesses the vector.
/// let samples = unsafe { ImportedSlice::<f32>::from_raw(managed)? };
/// assert_eq!(samples.iter().sum::<f32>(), 10.0);
/// # Ok::<(), Error>(())
/// ```
pub struct ImportedSlice<T> {
    /// The first element; dangling if there is none.
    first: NonNull<T>,
    len: usize,
    /// Dropped last, when nothing uses the memory any more.
    _release: Release,
    elements: PhantomData<[T]>,
}

// SAFETY: by 2 of `from_raw` any thread may call the deleter; by 4 and 6 any thread may
// read the elements, which are `Send` and `Sync` as all `Element`s are.
unsafe impl<T: Send + Sync> Send for ImportedSlice<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Sync for ImportedSlice<T> {}

impl<T: Readable> ImportedSlice<T> {
    /// Imports a tensor from its producer.
    ///
    /// If this returns an error, the deleter has been called, unless `managed` or the deleter is
    /// NULL.
    ///
    /// # Errors
    ///
    /// Those of [`ImportedTensor::from_raw`] and of [`Frozen::as_slice`](super::Frozen::as_slice).
    ///
    /// # Safety
    ///
    /// 1. to 5. of [`ImportedTensor::from_raw`].
    /// 6. Until this is dropped, no one writes to the elements.
    #[inline(always)]
    pub unsafe fn from_raw<A: Abi>(managed: *mut A) -> Result<Self, Error> {
        // SAFETY: 1. Guaranteed by our caller's 1 to 5.
        let managed = unsafe { Managed::new(managed) }.ok_or(Error::NullTensor)?;
        let (first, len, managed) = match contiguous_slice(&managed) {
            Some((first, len)) => (first, len, managed),
            // SAFETY: 1. Guaranteed by our caller's 6.
            None => unsafe { Self::any(managed) }?,
        };
        Ok(Self { first, len, _release: managed.release(), elements: PhantomData })
    }

    /// The slow path, for every tensor that `contiguous_slice` does not accept: it reads the metadata
    /// as an `ImportedTensor` does, and returns the exact error.
    ///
    /// # Safety
    ///
    /// 1. Until the deleter is called, no one writes to the elements.
    #[cold]
    #[inline(never)]
    unsafe fn any<A: Abi>(managed: Managed<A>) -> Result<(NonNull<T>, usize, Managed<A>), Error> {
        // SAFETY: 1. It is dropped here, before `managed` is dropped or moved.
        let tensor = unsafe { ImportedTensor::borrowed(&managed) }?;
        // SAFETY: 1. Guaranteed by our caller's 1.
        let slice = unsafe { tensor.assume_frozen() }.as_slice::<T>()?;
        let (first, len) = (NonNull::from(slice).cast(), slice.len());
        drop(tensor);
        Ok((first, len, managed))
    }
}

/// The fast path: returns the elements of a tensor in host memory, if all its metadata are
/// those of a contiguous slice of `T`s. `None` if one of them is not. An import with its release
/// takes 119 instructions, and 217 as an `ImportedTensor` (`cargo xtask bench instructions`).
#[inline(always)]
fn contiguous_slice<T: Element>(managed: &Managed<impl Abi>) -> Option<(NonNull<T>, usize)> {
    if !T::ANY_BITS || !T::AXES.is_empty() {
        return None;
    }
    let tensor = managed.tensor().ok()?;
    let claims = tensor.metadata();
    if !claims.device.is_host() || claims.dtype != T::DTYPE {
        return None;
    }
    contiguous_elements(&claims, tensor.lists().ok()?)
}

/// Returns the address and the number of the elements.
#[inline(always)]
fn contiguous_elements<T: Element>(
    claims: &RawMetadata,
    RawLists { shape, strides }: RawLists<'_>,
) -> Option<(NonNull<T>, usize)> {
    let mut len = 1_i64;
    for axis in (0..shape.len()).rev() {
        let dim = read_once(shape.get(axis)?);
        // An empty tensor has no first element, and takes the slow path.
        if dim < 1 {
            return None;
        }
        // NULL strides are those of a contiguous tensor. An axis of size 1 may have any stride.
        if let Some(strides) = strides {
            let stride = read_once(strides.get(axis)?);
            if stride != len && dim != 1 {
                return None;
            }
        }
        len = len.checked_mul(dim)?;
    }
    // The maximum length of a slice.
    let most = isize::MAX.unsigned_abs().checked_div(size_of::<T>())?;
    let len = usize::try_from(len).ok().filter(|&len| len <= most)?;
    let data = NonNull::new(claims.data)?;
    let byte_offset = usize::try_from(claims.byte_offset).ok()?;
    // `data` and the last byte are in one allocation, and no address in it wraps.
    let reach = byte_offset.checked_add(len.wrapping_mul(size_of::<T>()))?;
    if reach > isize::MAX.unsigned_abs() {
        return None;
    }
    data.addr().checked_add(reach)?;
    let first = data.with_addr(data.addr().checked_add(byte_offset)?).cast::<T>();
    first.is_aligned().then_some((first, len))
}

impl<T> Deref for ImportedSlice<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the checks of `from_raw` found `len` aligned, contiguous elements of this
        // type; by its 4 and 6 they are initialized, alive and not written as long as
        // `self` is alive.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl<T> AsRef<[T]> for ImportedSlice<T> {
    #[inline]
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<T: fmt::Debug> fmt::Debug for ImportedSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ImportedSlice").field(&&**self).finish()
    }
}
