//! Exportables inside of others: newtypes, and the variants of enums.

use super::{
    DLPackExport, Error, Lend, ManagedTensor, Option, Plain, Result, Room, SharedOwner, StreamArg,
    TensorView,
};

/// The exportable in a newtype, or in the variant of that number.
///
/// Its type is asked to be exportable here and nowhere else, so that one
/// which is not is one error.
pub trait Inner<Here, const VARIANT: usize> {
    /// Is exportable itself.
    type Type: DLPackExport + ?Sized;
}

/// [`DLPackExport::tensor`].
#[inline]
pub fn inner_tensor<Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &S::Type,
) -> Result<TensorView<'_>, Error> {
    inner.tensor()
}

/// [`DLPackExport::lend`].
#[inline]
pub fn inner_lend<Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &mut S::Type,
) -> Result<Lend<'_>, Error> {
    inner.lend()
}

/// [`DLPackExport::sync_for`].
#[inline]
pub fn inner_sync_for<Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &S::Type,
    consumer: StreamArg<'_>,
) -> Result<(), Error> {
    inner.sync_for(consumer)
}

/// [`DLPackExport::share`].
#[inline]
pub fn inner_share<Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &S::Type,
) -> Option<SharedOwner> {
    inner.share()
}

/// [`DLPackExport::tensor_in`].
#[inline(always)]
pub fn inner_tensor_in<'a, Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &'a S::Type,
    room: Room<'a>,
) -> Option<Plain<'a>> {
    inner.tensor_in(room)
}

/// [`DLPackExport::lend_in`].
#[inline(always)]
pub fn inner_lend_in<'a, Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &'a mut S::Type,
    room: Room<'a>,
) -> Option<Plain<'a>> {
    inner.lend_in(room)
}

/// [`DLPackExport::stored_shape`].
#[inline(always)]
pub fn inner_stored<Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &S::Type,
) -> Option<&[i64]> {
    inner.stored_shape()
}

/// [`DLPackExport::share_dlpack`].
#[inline(always)]
pub fn inner_share_dlpack<Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &S::Type,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error> {
    inner.share_dlpack(consumer)
}

/// A variant that is marked `#[dlpack(skip)]`.
#[cold]
pub const fn skipped<T>(variant: &'static str) -> Result<T, Error> {
    Err(Error::NoStorage { variant })
}

/// What consumers may not write, whatever the storage allows.
#[inline]
pub fn read_only(tensor: Result<TensorView<'_>, Error>) -> Result<TensorView<'_>, Error> {
    tensor.map(TensorView::into_read_only)
}
