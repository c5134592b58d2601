//! A reference-counted value whose exports, one at a time, allocate nothing for up to 8 dimensions:
//! [`ExportArc`].
//!
//! An export and its deleter need two locked instructions of 5 ns each: one consumer at a time has
//! the C struct, and its return can free the allocation. They take as long as the allocation that
//! they replace (`docs/generated/benchmarks.md`). Rejected: a flag that is returned by a plain store (it leaks
//! the allocation if the last handle is dropped at that moment), the struct for exports on one
//! thread only, and a fence by a system call (not portable, and invisible to Miri and loom).

use core::fmt;
use core::ops::Deref;

use crate::describe::{Describe, Description};
use crate::element::RecordType;
use crate::error::Error;
use crate::export::{DLPackExport, export_owned};
use crate::managed::{ManagedTensor, WithHead};
use crate::panic::Contained;
use crate::storage::{SharedOwner, Storage, TryArc};
use crate::stream_arg::StreamArg;

/// A reference-counted value, as in an `Arc`, that can be exported repeatedly without an
/// allocation, for up to 8 dimensions.
///
/// The reference count, the C struct for a consumer, and the value are in one allocation,
/// which is made once: [`to_dlpack`](DLPackExport::to_dlpack) fills in the struct, and the
/// deleter ends the consumer's ownership. While one consumer has that struct, each further
/// export makes an allocation, as an export of any other type does.
///
/// Any value can be exported in this way and stay usable, even if its storage has a single
/// owner (`Vec<T>`). Consumers may write only if the storage shares write access, as the table
/// of [`DLPackExport`] defines for `to_dlpack`. An export requires `T: Send + Sync + 'static`,
/// because consumers read the value from other threads and may drop it there.
///
/// ```
/// use dlpack_traits::{DLPackExport, Describe, Description, Error, Flags, ExportArc, Storage};
///
/// struct Samples(Vec<f32>);
///
/// impl DLPackExport for Samples {
///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
///         out.shape(&[2, 2]).data(self.0.data())
///     }
/// }
///
/// let samples = ExportArc::new(Samples(vec![1.0, 2.0, 3.0, 4.0]))?;
/// for _ in 0..1000 {
///     let tensor = samples.to_dlpack()?; // no allocation
///     assert_eq!(tensor.data_ptr(), samples.0.as_ptr().cast());
///     assert_eq!(tensor.flags(), Flags::READ_ONLY);
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct ExportArc<T> {
    block: TryArc<WithHead<Contained<T>>>,
}

impl<T> ExportArc<T> {
    /// Creates the first owner of a value.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the value is then dropped.
    pub fn new(value: T) -> Result<Self, Error> {
        Ok(Self { block: TryArc::new(WithHead::new(Contained::new(value)))? })
    }

    /// Borrows the value mutably, if this is the only owner: all clones are dropped, and every
    /// consumer has called its deleter.
    ///
    /// ```
    /// # use dlpack_traits::{Error, ExportArc};
    /// let mut samples = ExportArc::new(vec![1.0, 2.0])?;
    /// samples.get_mut().expect("no other owner").push(3.0);
    /// let other = samples.clone();
    /// assert!(samples.get_mut().is_none());
    /// # drop(other);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.block.get_mut().map(|block| block.value.get_mut())
    }

    /// Returns the value, if there is no other owner.
    ///
    /// # Errors
    ///
    /// This owner itself, if there is another.
    pub fn try_into_inner(self) -> Result<T, Self> {
        let block = self.block.into_inner().map_err(|block| Self { block })?;
        Ok(block.value.into_inner())
    }
}

impl<T: DLPackExport + Send + Sync + 'static> ExportArc<T> {
    /// Exports with a packet of its own.
    #[cold]
    fn packet(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        export_owned(self.clone(), consumer)
    }
}

/// The value has several owners, so it is exported READ_ONLY, unless its storage shares write
/// access: see the table of [`DLPackExport`].
impl<T: DLPackExport + Send + Sync + 'static> DLPackExport for ExportArc<T> {
    #[inline(always)]
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        (**self).describe(out)
    }

    #[inline]
    fn storage(&self) -> Option<&dyn Storage> {
        (**self).storage()
    }

    #[inline]
    fn sync_for(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        (**self).sync_for(consumer)
    }

    #[inline]
    fn share(&self) -> Option<SharedOwner> {
        (**self).share()
    }

    #[inline]
    fn record_type(&self) -> Option<&'static RecordType> {
        (**self).record_type()
    }

    /// As [`to_dlpack`](DLPackExport::to_dlpack); this owner is dropped.
    #[inline]
    fn into_dlpack(self) -> Result<ManagedTensor, Error> {
        self.to_dlpack()
    }

    /// As [`to_dlpack_on`](DLPackExport::to_dlpack_on); this owner is dropped.
    #[inline]
    fn into_dlpack_on(self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        self.to_dlpack_on(consumer)
    }

    /// Exports the value with the C struct of its allocation, without an allocation for up to 8
    /// dimensions. While a consumer has that struct, each further export makes as many allocations
    /// as [`into_dlpack`](DLPackExport::into_dlpack) of any other type.
    ///
    /// # Errors
    ///
    /// Those of [`describe`](Self::describe), of [`sync_for`](Self::sync_for) and of
    /// [`TensorView::sync_for`](crate::TensorView::sync_for), and [`Error::OutOfMemory`].
    #[inline(always)]
    fn to_dlpack_on(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        let Some(lent) = self.block.lend() else { return self.packet(consumer) };
        self.sync_for(consumer)?;
        // SAFETY: 1. The next statement consumes it, and the last one takes the result.
        let out = unsafe { lent.describe() };
        let checked = (**self).describe(out)?.into_checked();
        // SAFETY: 1. The value lent the memory, and is still borrowed.
        unsafe { checked.facts.sync_for(consumer) }?;
        // SAFETY: 1. The value lent the memory. By the trait bounds any thread may read and
        // drop the value. 2. The statement above synchronized it.
        unsafe { lent.finish(checked, consumer.place()) }
    }
}

impl<T> Deref for ExportArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.block.value.get()
    }
}

impl<T> Clone for ExportArc<T> {
    /// Returns another owner of the same value.
    #[inline]
    fn clone(&self) -> Self {
        Self { block: self.block.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for ExportArc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
