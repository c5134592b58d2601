//! The fields of a struct that describe its layout, by their roles.
//!
//! Each role has a function, which the expansion calls once, with the span of the field's type, to
//! which the error points if the type does not fit. Errors are passed from one function to the
//! next: a `?` after each call would be most of the compile time of an expansion.

use super::{AsDims, AsLayout, DataType, Device, Dim, Error, Layout, Order, Result};
use crate::describe::List;

// ---- lists ----

/// Begins with the field `shape`.
#[inline(always)]
pub fn shape<D: AsDims + ?Sized>(field: &D) -> Layout<'_> {
    Layout::new(field)
}

/// Begins with the field `shape`, converted.
#[inline]
pub fn shape_with<D: AsDims>(dims: D) -> Layout<'static> {
    Layout::new(List::copied(&dims))
}

/// Applies the field `strides`.
#[inline(always)]
pub fn strides<'a, D: AsDims + ?Sized>(layout: Layout<'a>, field: &'a D) -> Layout<'a> {
    layout.strides(field)
}

/// Applies the field `strides`, converted.
#[inline]
pub fn strides_with<D: AsDims>(layout: Layout<'_>, strides: D) -> Layout<'_> {
    layout.strides(List::copied(&strides))
}

/// Applies the field `strides(bytes)`.
#[inline(always)]
pub fn byte_strides<'a, D: AsDims + ?Sized>(layout: Layout<'a>, field: &'a D) -> Layout<'a> {
    layout.byte_strides(field)
}

/// Applies the field `strides(bytes)`, converted.
#[inline]
pub fn byte_strides_with<D: AsDims>(layout: Layout<'_>, strides: D) -> Layout<'_> {
    layout.byte_strides(List::copied(&strides))
}

/// Converts a number in `shape(height, width)` or `strides(hop, 1)`; `None` if it does not fit.
#[inline(always)]
pub fn number<I: Dim>(dim: &I) -> Option<i64> {
    dim.to_i64()
}

/// Begins with the dimensions in `shape(height, width)`.
#[inline(always)]
pub fn extents<const N: usize>(dims: [Option<i64>; N]) -> Layout<'static> {
    Layout::new(List::computed(dims.into_iter()))
}

/// Applies the strides in `strides(hop, 1)`.
#[inline]
pub fn listed_strides<const N: usize>(layout: Layout<'_>, list: [Option<i64>; N]) -> Layout<'_> {
    layout.of_whole_list(N).strides(List::computed(list.into_iter()))
}

/// Applies the strides in `byte_strides(pitch, 4)`.
#[inline]
pub fn listed_byte_strides<const N: usize>(
    layout: Layout<'_>,
    list: [Option<i64>; N],
) -> Layout<'_> {
    layout.of_whole_list(N).byte_strides(List::computed(list.into_iter()))
}

/// Begins with the field `layout`.
#[inline(always)]
pub fn layout<L: AsLayout + ?Sized>(field: &L) -> Layout<'_> {
    field.layout()
}

// ---- integers ----

/// Applies the field `ndim`.
#[inline(always)]
pub fn ndim<'a, I: Dim>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.rank(*field)
}

/// Applies the field `pitch(elements)`.
#[inline(always)]
pub fn pitch<'a, I: Dim>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.pitch(*field)
}

/// Applies the field `pitch(bytes)`.
#[inline(always)]
pub fn byte_pitch<'a, I: Dim>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.byte_pitch(*field)
}

/// Applies the field `offset(elements)`.
#[inline(always)]
pub fn offset<'a, I: Dim>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.offset(*field)
}

/// Applies the field `byte_offset`, or `offset(bytes)`.
#[inline(always)]
pub fn byte_offset<'a, I: Dim>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.byte_offset(*field)
}

/// Applies the field `len(elements)`.
#[inline(always)]
pub fn len<'a, I: Dim>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.len(*field)
}

/// Applies the field `len(bytes)`.
#[inline(always)]
pub fn byte_len<'a, I: Dim>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.byte_len(*field)
}

// ---- other values ----

/// A field that can be the `order`, the `dtype` or the `device`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `{V}` of a tensor",
    label = "does not convert into a `{V}`",
    note = "use `{V}`, or implement `From<{Self}>` for it (or `TryFrom`, whose error converts into `dlpack_traits::Error`) and `Clone for {Self}`; for an enum of element types, `#[derive(Clone, DataType)]` does both",
    note = "if the type is another crate's, name a function that converts it, beside the role: `with = path`"
)]
pub trait ConvertsInto<V> {
    /// Returns the value.
    fn value(&self) -> Result<V, Error>;
}

#[diagnostic::do_not_recommend]
impl<V, T: Clone + TryInto<V, Error: Into<Error>>> ConvertsInto<V> for T {
    #[inline]
    fn value(&self) -> Result<V, Error> {
        self.clone().try_into().map_err(Into::into)
    }
}

/// The result of a call, or of a function that converts a field into a `V`: a `V`, or a `Result`.
#[diagnostic::on_unimplemented(
    message = "the value in the attribute is a `{Self}`, expected `{V}`",
    label = "is a `{Self}`",
    note = "it is a `{V}`, or a `Result` with it whose error converts into `dlpack_traits::Error`; a function after `with` takes a reference to the field",
    note = "a call that returns a type with a conversion ends with `.into()` or `.try_into()`"
)]
pub trait Converted<V> {
    /// Returns the value.
    fn converted(self) -> Result<V, Error>;
}

impl<V, E: Into<Error>> Converted<V> for Result<V, E> {
    #[inline]
    fn converted(self) -> Result<V, Error> {
        self.map_err(Into::into)
    }
}

impl Converted<Order> for Order {
    #[inline]
    fn converted(self) -> Result<Order, Error> {
        Ok(self)
    }
}

impl Converted<DataType> for DataType {
    #[inline]
    fn converted(self) -> Result<DataType, Error> {
        Ok(self)
    }
}

impl Converted<Device> for Device {
    #[inline]
    fn converted(self) -> Result<Device, Error> {
        Ok(self)
    }
}

#[inline(always)]
fn applied<'a, V>(
    layout: Layout<'a>,
    value: Result<V, Error>,
    apply: impl FnOnce(Layout<'a>, V) -> Layout<'a>,
) -> Layout<'a> {
    match value {
        Ok(value) => apply(layout, value),
        Err(error) => layout.refused(error),
    }
}

/// Applies the field `order`: contiguous elements in that order.
#[inline(always)]
pub fn order<'a, T: ConvertsInto<Order>>(layout: Layout<'a>, field: &T) -> Layout<'a> {
    applied(layout, field.value(), Layout::order)
}

/// Applies the field `order`, converted.
#[inline]
pub fn order_with<C: Converted<Order>>(layout: Layout<'_>, value: C) -> Layout<'_> {
    applied(layout, value.converted(), Layout::order)
}

/// Applies the field `dtype`, or a constant.
#[inline(always)]
pub fn dtype<'a, T: ConvertsInto<DataType>>(layout: Layout<'a>, field: &T) -> Layout<'a> {
    applied(layout, field.value(), Layout::dtype)
}

/// Applies the field `dtype`, converted.
#[inline]
pub fn dtype_with<C: Converted<DataType>>(layout: Layout<'_>, value: C) -> Layout<'_> {
    applied(layout, value.converted(), Layout::dtype)
}

/// Applies the field `device`.
#[inline(always)]
pub fn device<'a, T: ConvertsInto<Device>>(layout: Layout<'a>, field: &T) -> Layout<'a> {
    applied(layout, field.value(), Layout::device)
}

/// Applies the field `device`, converted.
#[inline]
pub fn device_with<C: Converted<Device>>(layout: Layout<'_>, value: C) -> Layout<'_> {
    applied(layout, value.converted(), Layout::device)
}
