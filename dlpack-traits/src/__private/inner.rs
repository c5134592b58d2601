//! Exportable values inside of others: in newtypes, and in variants of enums.

use super::{
    DLPackExport, Describe, Description, DescriptionMut, Error, ManagedTensor, Option, Result,
    SharedOwner, Storage, StreamArg,
};

/// The type of the value in a newtype, or in the variant with that number.
///
/// Only the impl of this trait requires that the type is exportable, so that a
/// wrong type causes a single error.
pub trait Inner<Here, const VARIANT: usize> {
    /// The type of the value.
    type Type: DLPackExport + ?Sized;
}

/// [`DLPackExport::describe`].
#[inline(always)]
pub fn inner_describe<'a, Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &'a S::Type,
    out: Describe<'a>,
) -> Result<Description<'a>, Error> {
    inner.describe(out)
}

/// [`DLPackExport::describe_mut`].
#[inline(always)]
pub fn inner_describe_mut<'a, Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &'a mut S::Type,
    out: Describe<'a>,
) -> Result<DescriptionMut<'a>, Error> {
    inner.describe_mut(out)
}

/// [`DLPackExport::storage`].
#[inline]
pub fn inner_storage<Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &S::Type,
) -> Option<&dyn Storage> {
    inner.storage()
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

/// [`DLPackExport::to_dlpack_on`].
#[inline]
pub fn inner_to_dlpack_on<Here, const VARIANT: usize, S: Inner<Here, VARIANT> + ?Sized>(
    inner: &S::Type,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error> {
    inner.to_dlpack_on(consumer)
}

/// The error for a variant that is marked `#[dlpack(skip)]`.
#[cold]
pub const fn skipped<T>(variant: &'static str) -> Result<T, Error> {
    Err(Error::NoStorage { variant })
}

/// Applies the attribute `read_only`: marks the tensor READ_ONLY, even if the
/// storage allows writing.
#[inline]
pub fn read_only(tensor: Result<Description<'_>, Error>) -> Result<Description<'_>, Error> {
    tensor.map(Description::into_read_only)
}
