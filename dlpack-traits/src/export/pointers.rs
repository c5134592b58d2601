//! `DLPackExport` for `Box` and `Arc`.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::DLPackExport;
use crate::describe::{Describe, Description, DescriptionMut};
use crate::element::RecordType;
use crate::error::Error;
use crate::managed::ManagedTensor;
use crate::storage::{SharedOwner, Storage};
use crate::stream_arg::StreamArg;

/// A box of an exportable value is exportable.
impl<T: DLPackExport + ?Sized> DLPackExport for Box<T> {
    #[inline(always)]
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        (**self).describe(out)
    }

    #[inline(always)]
    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        (**self).describe_mut(out)
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

    #[inline]
    fn to_dlpack_on(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        (**self).to_dlpack_on(consumer)
    }
}

/// An `Arc` of an exportable value is exported READ_ONLY, unless the storage shares write access.
/// An export that borrows the `Arc` shares the storage if the storage supports several owners;
/// otherwise a clone of the `Arc` is the owner.
///
/// ```
/// use std::sync::Arc;
/// use dlpack_traits::{DLPackExport, Describe, Description, Error, Storage};
///
/// struct Samples(Vec<f32>);
///
/// impl DLPackExport for Samples {
///     fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
///         out.shape(&[2]).data(self.0.data())
///     }
/// }
///
/// let samples = Arc::new(Samples(vec![1.5, 2.5]));
/// let tensor = samples.to_dlpack()?;
/// assert!(tensor.is_read_only());
/// drop(samples);
/// assert_eq!(tensor.import()?.frozen()?.as_slice::<f32>()?, [1.5, 2.5]);
/// # Ok::<(), Error>(())
/// ```
impl<T: DLPackExport + Send + Sync + ?Sized + 'static> DLPackExport for Arc<T> {
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

    #[inline]
    fn to_dlpack_on(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        match (**self).to_dlpack_on(consumer) {
            Err(Error::NotShareable) => Arc::clone(self).into_dlpack_on(consumer),
            shared => shared,
        }
    }
}
