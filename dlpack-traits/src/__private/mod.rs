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

pub use crate::describe::{AsLayout, Describe, Description, DescriptionMut, Order, Shaped};
pub use crate::device::Device;
pub use crate::dims::{AsDims, Dim};
pub use crate::dtype::DataType;
pub use crate::error::Error;
pub use crate::export::DLPackExport;
pub use crate::managed::ManagedTensor;
pub use crate::storage::{SharedOwner, Storage};
pub use crate::stream::{StreamArg, Synchronize};

pub use asserts::{
    DroppedWithTensor, Ranks, SameRank, TensorOwner, assert_dropped, assert_owner,
    assert_same_rank, dim, integer,
};
pub use fields::{
    ByteOffsetField, DTypeField, DeviceField, LayoutField, LenField, NdimField, OffsetField,
    OrderField, PitchField, ShapeField, StridesField, SyncField, byte_len, byte_offset, byte_pitch,
    byte_strides, column_major, constants, device, dtype, extent, extents, layout, len, ndim,
    offset, order, padded, pitch, shape, strides, wait,
};
pub use inner::{
    Inner, inner_describe, inner_describe_mut, inner_share, inner_storage, inner_sync_for,
    inner_to_dlpack_on, read_only, skipped,
};
pub use numbers::{Field, Numbers, OtherField, unsaid};
pub use raw::{NoStorage, RawPointer, raw, raw_data, raw_device};

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

/// [`DLPackExport::describe`] of a struct with a storage.
#[inline(always)]
pub fn data<'a, Here, S: Tensor<Here> + ?Sized>(
    shaped: Shaped<'a>,
    data: &'a S::Data,
) -> Result<Description<'a>, Error> {
    shaped.data(data.data())
}

/// [`DLPackExport::describe_mut`] of a struct with a storage.
#[inline(always)]
pub fn data_mut<'a, Here, S: Tensor<Here> + ?Sized>(
    shaped: Shaped<'a>,
    data: &'a mut S::Data,
) -> Result<DescriptionMut<'a>, Error> {
    shaped.data_mut(data.lend())
}

/// [`DLPackExport::storage`].
#[inline]
pub fn storage<Here, S: Tensor<Here, Data: Sized> + ?Sized>(
    data: &S::Data,
) -> Option<&(dyn Storage + '_)> {
    Some(data)
}

/// [`DLPackExport::share`].
#[inline]
pub fn share<Here, S: Tensor<Here> + ?Sized>(data: &S::Data) -> Option<SharedOwner> {
    data.share()
}
