//! Exports of `Box` and `Arc` of what can be exported.

use alloc::boxed::Box;
use alloc::sync::Arc;

use super::DLPackExport;
use crate::described::Plain;
use crate::dims::Room;
use crate::error::Error;
use crate::managed::ManagedTensor;
use crate::storage::SharedOwner;
use crate::stream::StreamArg;
use crate::view::{Lend, TensorView};

/// An exportable behind a pointer is exportable.
impl<T: DLPackExport + ?Sized> DLPackExport for Box<T> {
    #[inline]
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        (**self).tensor()
    }

    #[inline]
    fn lend(&mut self) -> Result<Lend<'_>, Error> {
        (**self).lend()
    }

    #[inline]
    fn tensor_in<'a>(&'a self, room: Room<'a>) -> Option<Plain<'a>> {
        (**self).tensor_in(room)
    }

    #[inline]
    fn lend_in<'a>(&'a mut self, room: Room<'a>) -> Option<Plain<'a>> {
        (**self).lend_in(room)
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
    fn share_dlpack(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        (**self).share_dlpack(consumer)
    }
}

/// An exportable with several owners can be read by all of them. An export that leaves the
/// `Arc` usable shares the storage if that can have several owners, and otherwise the
/// `Arc`: a clone of it is the owner.
///
/// ```
/// use std::sync::Arc;
/// use dlpack_traits::{DLPackExport, Error, Layout, Storage, TensorView};
///
/// struct Samples(Vec<f32>);
///
/// impl DLPackExport for Samples {
///     fn tensor(&self) -> Result<TensorView<'_>, Error> {
///         TensorView::new(self.0.data(), Layout::row_major(&[2])?)
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
    #[inline]
    fn tensor(&self) -> Result<TensorView<'_>, Error> {
        (**self).tensor()
    }

    #[inline]
    fn tensor_in<'a>(&'a self, room: Room<'a>) -> Option<Plain<'a>> {
        (**self).tensor_in(room)
    }

    #[inline]
    fn lend_in<'a>(&'a mut self, room: Room<'a>) -> Option<Plain<'a>> {
        (**self).tensor_in(room)
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
    fn share_dlpack(&self, consumer: StreamArg<'_>) -> Result<ManagedTensor, Error> {
        match (**self).share_dlpack(consumer) {
            Err(Error::NotShareable) => Arc::clone(self).into_dlpack_on(consumer),
            shared => shared,
        }
    }
}
