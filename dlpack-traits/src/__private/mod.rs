//! The items that expansions of the derives name. Not public API: it may change
//! with any release, and other code must not use it.

mod asserts;
mod element;
mod fields;
pub mod import;
mod numbers;
mod one_of;
pub mod parts;
mod raw;
mod slice;

/// The version lock: the paths of an expansion begin with this name, which
/// contains the version of the derive that generated it.
pub use crate::__private as dlpack_derive_0_1_0_see_attribute_crate;

pub use core::convert::AsRef;
pub use core::option::Option;
pub use core::primitive::i64;
pub use core::result::Result;

pub use crate::describe::{AsLayout, Describe, Description, DescriptionMut, Layout, Order};
pub use crate::device::Device;
pub use crate::dims::{AsDims, Dim};
pub use crate::dtype::DataType;
pub use crate::element::{Element, RecordType};
pub use crate::error::Error;
pub use crate::export::DLPackExport;
pub use crate::managed::ManagedTensor;
pub use crate::storage::{SharedOwner, Storage};
pub use crate::stream_arg::{StreamArg, Synchronize};

pub use asserts::{
    DroppedWithTensor, Ranks, SameRank, TensorOwner, assert_dropped, assert_owner,
    assert_same_rank, dim, integer,
};
pub use fields::{
    Converted, ConvertsInto, byte_len, byte_offset, byte_pitch, byte_strides, byte_strides_with,
    device, device_with, dtype, dtype_with, extents, layout, len, listed_byte_strides,
    listed_strides, ndim, number, offset, order, order_with, pitch, shape, shape_with, strides,
    strides_with,
};
pub use numbers::{Field, Numbers, OtherField, reject_unmarked};
pub use raw::{
    NoStorage, Pointed, RawPointer, pointed, pointed_mut, raw, raw_data, raw_device, share_raw,
};
pub use slice::{LendsSlice, SharedByClone, lender, lending, share_slice, slice};

/// A struct that is a tensor, with the type of its `data`.
///
/// Only the impl of this trait requires that the type of `data` is a storage.
/// The functions below take the bound from here, so that a wrong type causes a
/// single error, at the field, however many methods use it.
///
/// `Here` is a type that only the expansion can name. It makes the impl
/// private, so that a public struct may have fields of private types.
pub trait Tensor<Here> {
    /// The type of `data`.
    type Data: Storage + ?Sized;
}

/// [`DLPackExport::describe`] for a struct with a storage.
#[inline(always)]
pub fn data<'a, Here, S: Tensor<Here> + ?Sized>(
    out: Describe<'a>,
    layout: Layout<'a>,
    data: &'a S::Data,
) -> Result<Description<'a>, Error> {
    out.layout(layout).data(data.data())
}

/// [`DLPackExport::describe_mut`] for a struct with a storage.
#[inline(always)]
pub fn data_mut<'a, Here, S: Tensor<Here> + ?Sized>(
    out: Describe<'a>,
    layout: Layout<'a>,
    data: &'a mut S::Data,
) -> Result<DescriptionMut<'a>, Error> {
    out.layout(layout).data_mut(data.data_mut())
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

/// The struct in a call on `self` in an attribute, also where the method borrows it exclusively.
#[inline(always)]
pub const fn this<T: ?Sized>(of: &T) -> &T {
    of
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
