//! A value with several owners, whose exports allocate nothing: [`Shared`].

use core::fmt;
use core::ops::Deref;

use crate::describe::{Describe, Description};
use crate::error::Error;
use crate::export::{DLPackExport, into_managed};
use crate::managed::{Holder, ManagedTensor};
use crate::storage::{SharedOwner, Storage};
use crate::stream::StreamArg;

/// A value with several owners, as in an `Arc`, that is exported again and again.
///
/// The count of its owners, the C struct that a consumer gets, and the value are one
/// allocation, which is made once: [`to_dlpack`](DLPackExport::to_dlpack) fills in
/// the struct, and the deleter takes back a count. While a consumer has that
/// struct, further ones get a packet each, as from any other type.
///
/// Any value can be exported so while it stays usable, also one whose storage has a
/// single owner (`Vec<T>`). Consumers may read only, unless the storage is a
/// [`SharedBuffer`](crate::SharedBuffer).
///
/// ```
/// use dlpack_traits::{DLPackExport, Describe, Description, Error, Flags, Shared, Storage};
///
/// struct Samples(Vec<f32>);
///
/// impl DLPackExport for Samples {
///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
///         out.shape(&[2, 2]).data(self.0.data())
///     }
/// }
///
/// let samples = Shared::new(Samples(vec![1.0, 2.0, 3.0, 4.0]))?;
/// for _ in 0..1000 {
///     let tensor = samples.to_dlpack()?; // no allocation
///     assert_eq!(tensor.as_data_ptr(), samples.0.as_ptr().cast());
///     assert_eq!(tensor.flags(), Flags::READ_ONLY);
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct Shared<T> {
    handle: Holder<T>,
}

impl<T> Shared<T> {
    /// The first owner of a value.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the value is then dropped.
    pub fn new(value: T) -> Result<Self, Error> {
        Ok(Self { handle: Holder::new(value)? })
    }

    /// The value, to be changed, if there is no other owner: no clone, and no
    /// consumer that has not called its deleter.
    ///
    /// ```
    /// # use dlpack_traits::{Error, Shared};
    /// let mut samples = Shared::new(vec![1.0, 2.0])?;
    /// samples.get_mut().expect("no other owner").push(3.0);
    /// let other = samples.clone();
    /// assert!(samples.get_mut().is_none());
    /// # drop(other);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.handle.get_mut()
    }

    /// The value, if there is no other owner.
    ///
    /// # Errors
    ///
    /// This owner, if there is another.
    pub fn try_into_inner(self) -> Result<T, Self> {
        self.handle.into_inner().map_err(|handle| Self { handle })
    }
}

impl<T: DLPackExport + Send + Sync + 'static> Shared<T> {
    /// An export with a packet of its own.
    #[cold]
    fn packet(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        into_managed(self.clone(), consumer)
    }
}

/// An exportable with several owners can be read by all of them.
impl<T: DLPackExport + Send + Sync + 'static> DLPackExport for Shared<T> {
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

    /// [`to_dlpack`](DLPackExport::to_dlpack), with which this owner goes.
    #[inline]
    fn into_dlpack(self) -> Result<ManagedTensor, Error> {
        self.to_dlpack()
    }

    /// [`to_dlpack_on`](DLPackExport::to_dlpack_on), with which this owner goes.
    #[inline]
    fn into_dlpack_on(self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        self.to_dlpack_on(consumer)
    }

    /// Lends the value in its place, without an allocation, or with a packet where it
    /// is lent already.
    ///
    /// # Errors
    ///
    /// Those of [`describe`](Self::describe), of [`sync_for`](Self::sync_for) and of
    /// [`TensorView::sync_for`](crate::TensorView::sync_for), and [`Error::OutOfMemory`].
    #[inline(always)]
    fn to_dlpack_on(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        let Some(lent) = self.handle.lend() else { return self.packet(consumer) };
        self.sync_for(consumer)?;
        // SAFETY: 1. The next statement uses it up, and the last takes the result.
        let out = unsafe { lent.describe() };
        let checked = self.handle.value().describe(out)?.into_checked();
        // SAFETY: 1. The value lent it, and is borrowed still.
        unsafe { checked.facts.sync_for(consumer) }?;
        // SAFETY: 1. The value lent it. The bounds have it that any thread may read and
        // drop the value. 2. The statement before synchronized it.
        unsafe { lent.finish(checked, consumer.place()) }
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.handle.value()
    }
}

impl<T> Clone for Shared<T> {
    /// Another owner of the same value.
    #[inline]
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
