//! Imported memory as the `data` field of a struct: [`Foreign`].

use alloc::sync::Arc;
use core::fmt;
use core::marker::PhantomData;

use super::elements::atomic_align;
use super::{Imported, Readable};
use crate::described::{AsLayout, Layout};
use crate::element::Element;
use crate::error::Error;
use crate::export::DLPackExport;
use crate::storage::{DataRef, SharedOwner, Storage};
use crate::view::TensorView;

/// Imported host memory with elements of type `T`: a storage, and a tensor that
/// can be exported again. Nothing is copied.
///
/// The memory stays what it was: others may write it, and a consumer may too,
/// unless its producer said READ_ONLY, which is then said again. Cloning makes
/// another owner of the same memory; the last one calls the deleter.
///
/// As a storage it spans the bytes from the lowest element to the highest. The
/// layout in which the elements were imported is [`as_layout`](AsLayout::as_layout).
///
/// ```
/// use dlpack_traits::{DLPackExport, Error, Foreign, Layout, Storage, TensorView};
///
/// struct Samples(Vec<u8>);
///
/// impl DLPackExport for Samples {
///     fn tensor(&self) -> Result<TensorView<'_>, Error> {
///         TensorView::new(self.0.data(), Layout::strided(&[2], &[-1])?.byte_offset(1_usize)?)
///     }
/// }
///
/// // SAFETY: nobody else has the memory.
/// let imported = unsafe { Samples(vec![1, 2]).into_dlpack()?.import()? };
/// let foreign = Foreign::<u8>::new(imported)?;
/// let again = foreign.to_dlpack()?;
/// assert_eq!(again.strides(), [-1]);
/// // SAFETY: as above.
/// assert_eq!(unsafe { again.import()? }.elements::<u8>()?.to_vec()?, [2, 1]);
/// # Ok::<(), Error>(())
/// ```
pub struct Foreign<T> {
    tensor: Arc<Imported>,
    elements: PhantomData<fn() -> T>,
}

impl<T: Readable> Foreign<T> {
    /// Holds an imported tensor.
    ///
    /// # Errors
    ///
    /// [`Error::NotOnHost`], [`Error::ElementMismatch`], and
    /// [`Error::Misaligned`] where an element is not aligned to the largest
    /// power of two, up to 8, that divides its size. The tensor is then released.
    pub fn new(tensor: Imported) -> Result<Self, Error> {
        let align = atomic_align::<T>();
        if tensor.first_as::<T>()?.addr() & align.wrapping_sub(1) != 0 {
            return Err(Error::Misaligned { dtype: T::DTYPE, align });
        }
        Ok(Self { tensor: Arc::new(tensor), elements: PhantomData })
    }

    /// The imported tensor.
    pub fn tensor(&self) -> &Imported {
        &self.tensor
    }
}

impl<T: Element> Storage for Foreign<T> {
    fn data(&self) -> DataRef<'_> {
        let (tensor, bytes) = (&*self.tensor, self.tensor.byte_range());
        let first = tensor.as_ptr().cast_mut();
        // SAFETY: by 4 of `Imported::from_raw` the lowest byte of an element is
        // part of the same allocation. Without elements nothing is added.
        let lowest = unsafe { first.offset(bytes.start) };
        // The range was checked to fit.
        let byte_len = bytes.end.wrapping_sub(bytes.start).unsigned_abs();
        let lowest = if byte_len == 0 { core::ptr::dangling_mut::<u64>().cast() } else { lowest };
        // SAFETY:
        // 1. By 4 of `Imported::from_raw` they are that many bytes of one
        //    allocation, alive as long as the handle. It is on the host.
        // 2. By 4 they are initialised, and what they mean is the producer's
        //    business. `new` checked the alignment of the first element, of
        //    which the lowest is a whole number of elements away.
        // 3. By 4 they may be read, and written unless READ_ONLY is set, which
        //    the line after this says. By 5 no Rust reference conflicts, and
        //    accesses are atomics of that size or ordered.
        let data = unsafe {
            DataRef::from_raw_parts_shared(lowest, byte_len, tensor.dtype(), tensor.device())
        };
        if tensor.is_read_only() { data.into_read_only() } else { data }
    }

    fn share(&self) -> Option<SharedOwner> {
        SharedOwner::new(self.clone())
    }
}

impl<T> AsLayout for Foreign<T> {
    fn as_layout(&self) -> Result<Layout<'_>, Error> {
        let before = self.tensor.byte_range().start.unsigned_abs();
        Layout::strided(self.tensor.shape(), self.tensor.strides())?.byte_offset(before)
    }
}

impl<T: Element> DLPackExport for Foreign<T> {
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        TensorView::new(self.data(), self.as_layout()?)
    }

    fn storage(&self) -> Option<&dyn Storage> {
        Some(self)
    }
}

impl<T> Clone for Foreign<T> {
    /// Another owner of the same memory.
    fn clone(&self) -> Self {
        Self { tensor: Arc::clone(&self.tensor), elements: PhantomData }
    }
}

impl<T> fmt::Debug for Foreign<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Foreign").field(&self.tensor).finish()
    }
}
