//! What the expansion of the derive may name. Not public API: it changes with
//! any release, and nothing else may use it.

mod asserts;
pub mod companion;
mod element;
mod fields;
pub mod import;
mod inner;
mod numbers;
mod raw;

/// The version lock: an expansion starts here, with the version of the derive that
/// wrote it.
pub use crate::__private as dlpack_derive_0_1_0;

pub use core::option::Option;
pub use core::primitive::i64;
pub use core::result::Result;

pub use crate::described::{AsLayout, Layout, Order, Plain};
pub use crate::device::Device;
pub use crate::dims::{AsDims, Compact, Dim, Dims, Room};
pub use crate::dtype::DataType;
pub use crate::error::Error;
pub use crate::export::DLPackExport;
use crate::export::ShareBy;
pub use crate::managed::ManagedTensor;
pub use crate::storage::{SharedOwner, Storage};
pub use crate::stream::{StreamArg, Synchronize};
pub use crate::view::{Lend, TensorView};

pub use asserts::{
    DroppedWithTensor, Ranks, SameRank, TensorOwner, assert_dropped, assert_owner,
    assert_same_rank, dim, integer,
};
pub use fields::{
    ByteOffsetField, DTypeField, DeviceField, LayoutField, LenField, ListTo, NdimField,
    OffsetField, OrderField, PitchField, ShapeField, StridesField, SyncField, byte_len,
    byte_offset, byte_pitch, byte_strided, column_major, compact_constants, compact_extents,
    constants, device, dtype, extent, extents, layout, len, ndim, offset, ordered, padded, pitch,
    row_major, shape, strided, strides, wait,
};
pub use inner::{
    Inner, inner_lend, inner_lend_in, inner_share, inner_share_dlpack, inner_stored,
    inner_sync_for, inner_tensor, inner_tensor_in, read_only, skipped,
};
pub use numbers::{Field, Numbers, OtherField, unsaid};
pub use raw::{NoStorage, RawPointer, raw, raw_device, raw_tensor};

/// A struct that is a tensor: what holds its elements.
///
/// The type of `data` is checked here, with the caret on it. The functions
/// below take the bound from here, so that a wrong type is one error, however
/// many methods touch it.
///
/// `Here` is a type that only the expansion can name. It makes the impl
/// private, so that a public struct may have fields of private types.
pub trait Tensor<Here> {
    /// Holds the elements.
    type Data: Storage + ?Sized;
}

/// [`DLPackExport::tensor`].
#[inline]
pub fn tensor<'a, Here, S: Tensor<Here> + ?Sized>(
    data: &'a S::Data,
    layout: Result<Layout<'a>, Error>,
) -> Result<TensorView<'a>, Error> {
    TensorView::of(data.data(), layout)
}

/// [`DLPackExport::tensor`] of a compact tensor, by the short way if that will do.
#[inline(always)]
pub fn compact_tensor<'a, Here, S: Tensor<Here> + ?Sized>(
    data: &'a S::Data,
    layout: Result<Layout<'a>, Error>,
) -> Result<TensorView<'a>, Error> {
    match layout {
        Ok(layout) => TensorView::new(data.data(), layout),
        error => tensor::<Here, S>(data, error),
    }
}

/// [`DLPackExport::tensor`] of a compact tensor, if there is no more to say.
#[inline(always)]
pub fn tensor_in<'a, Here, S: Tensor<Here> + ?Sized>(
    data: &'a S::Data,
    shape: Option<Compact<'a>>,
) -> Option<Plain<'a>> {
    Plain::of_ref(data.data(), shape?)
}

/// [`DLPackExport::lend`] of a compact tensor, if there is no more to say.
#[inline(always)]
pub fn lend_in<'a, Here, S: Tensor<Here> + ?Sized>(
    data: &'a mut S::Data,
    shape: Option<Compact<'a>>,
) -> Option<Plain<'a>> {
    Plain::of(data.lend(), shape?)
}

/// [`DLPackExport::tensor`] of a struct that is `read_only`.
#[inline]
pub fn read_only_tensor<'a, Here, S: Tensor<Here> + ?Sized>(
    data: &'a S::Data,
    layout: Result<Layout<'a>, Error>,
) -> Result<TensorView<'a>, Error> {
    read_only(tensor::<Here, S>(data, layout))
}

/// [`DLPackExport::lend`].
#[inline]
pub fn lend<'a, Here, S: Tensor<Here> + ?Sized>(
    data: &'a mut S::Data,
    layout: Result<Layout<'a>, Error>,
) -> Result<Lend<'a>, Error> {
    Lend::of(data.lend(), layout)
}

/// [`DLPackExport::storage`].
#[inline]
pub fn storage<Here, S: Tensor<Here, Data: Sized> + ?Sized>(
    data: &S::Data,
) -> Option<&(dyn Storage + '_)> {
    Some(data)
}

/// [`DLPackExport::stored_shape`] of a field.
#[inline(always)]
pub fn stored(shape: Result<Dims<'_>, Error>) -> Option<&[i64]> {
    shape.ok()?.as_borrowed()
}

/// [`DLPackExport::share_dlpack`] with an owner of the type that the storage knows.
#[inline(always)]
pub fn share_dlpack<Here, S: Tensor<Here, Data: Sized> + DLPackExport>(
    tensor: &S,
    data: &S::Data,
    consumer: StreamArg<'_>,
) -> Result<ManagedTensor, Error> {
    data.share_with(ShareBy::new(tensor, consumer))
}

/// [`DLPackExport::share`].
#[inline]
pub fn share<Here, S: Tensor<Here> + ?Sized>(data: &S::Data) -> Option<SharedOwner> {
    data.share()
}
