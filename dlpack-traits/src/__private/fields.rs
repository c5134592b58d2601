//! The fields of a struct that describe its layout, by their roles.
//!
//! Each role has a trait, for the message that rustc prints if the type of a
//! field does not fit, and a function. The expansion calls the function once,
//! with the span of the field's type, to which the error points. Errors are
//! passed from one function to the next: a `?` after each call would be most of
//! the compile time of an expansion.

use super::{
    AsDims, AsLayout, DataType, Device, Dim, Error, Layout, Order, Result, StreamArg, Synchronize,
};
use crate::describe::List;

// ---- dimensions ----

/// A field that can be the `shape`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `shape` of a tensor",
    label = "not a list of integers",
    note = "use an array, `Vec`, `Box` or `Arc` of integers, such as `[usize; 3]` or `Vec<i64>`",
    note = "for a list of your own, implement `dlpack_traits::AsDims`; for one of another crate, name a function that converts it: `#[dlpack(shape, with = path)]`"
)]
pub trait ShapeField {
    /// The type of the list.
    type List: AsDims + ?Sized;

    /// Returns the dimensions.
    fn list(&self) -> &Self::List;
}

#[diagnostic::do_not_recommend]
impl<D: AsDims + ?Sized> ShapeField for D {
    type List = D;

    #[inline(always)]
    fn list(&self) -> &D {
        self
    }
}

/// A field that can be the `strides`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `strides` of a tensor",
    label = "not a list of integers",
    note = "use an array, `Vec`, `Box` or `Arc` of integers, such as `[isize; 3]` or `Vec<i64>`",
    note = "for a list of your own, implement `dlpack_traits::AsDims`; for one of another crate, name a function that converts it: `#[dlpack(strides, with = path)]`"
)]
pub trait StridesField {
    /// The type of the list.
    type List: AsDims + ?Sized;

    /// Returns the strides.
    fn list(&self) -> &Self::List;
}

#[diagnostic::do_not_recommend]
impl<D: AsDims + ?Sized> StridesField for D {
    type List = D;

    #[inline(always)]
    fn list(&self) -> &D {
        self
    }
}

/// Begins with the field `shape`.
#[inline(always)]
pub fn shape<D: ShapeField + ?Sized>(field: &D) -> Layout<'_> {
    Layout::new(field.list())
}

/// Applies the field `strides`.
#[inline(always)]
pub fn strides<'a, D: StridesField + ?Sized>(layout: Layout<'a>, field: &'a D) -> Layout<'a> {
    layout.strides(field.list())
}

/// Applies the field `strides(bytes)`.
#[inline(always)]
pub fn byte_strides<'a, D: StridesField + ?Sized>(layout: Layout<'a>, field: &'a D) -> Layout<'a> {
    layout.byte_strides(field.list())
}

/// Converts one of the strides in `strides(hop, 1)`; `None` if it does not fit.
#[inline(always)]
pub fn stride<I: StrideField>(stride: &I) -> Option<i64> {
    stride.int().to_i64()
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

/// Converts one of the dimensions in `shape(height, width)`; `None` if it does
/// not fit.
#[inline(always)]
pub fn extent<I: Dim>(dim: &I) -> Option<i64> {
    dim.to_i64()
}

/// Begins with the dimensions in `shape(height, width)`.
#[inline(always)]
pub fn extents<const N: usize>(dims: [Option<i64>; N]) -> Layout<'static> {
    Layout::new(List::computed(dims.into_iter()))
}

/// Begins with the dimensions in `shape(3, Self::WIDTH)`, if all are constant.
#[inline(always)]
pub fn constants<const N: usize>(dims: &'static [i64; N]) -> Layout<'static> {
    Layout::new(dims)
}

// ---- placement ----

/// A field that can be the `order`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `order` of a tensor",
    label = "does not convert into an `Order`",
    note = "use `dlpack_traits::Order`, or implement `From<{Self}> for dlpack_traits::Order` (or `TryFrom`, whose error converts into `dlpack_traits::Error`) and `Clone for {Self}`",
    note = "if the type is another crate's, name a function that converts it: `#[dlpack(order, with = path)]`"
)]
pub trait OrderField {
    /// Returns the order.
    fn order(&self) -> Result<Order, Error>;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + TryInto<Order, Error: Into<Error>>> OrderField for T {
    #[inline]
    fn order(&self) -> Result<Order, Error> {
        self.clone().try_into().map_err(Into::into)
    }
}

/// A field that can be the `layout`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `layout` of a tensor",
    label = "not an `AsLayout`",
    note = "add `#[derive(AsLayout)]` to `{Self}`, or implement `dlpack_traits::AsLayout`"
)]
pub trait LayoutField {
    /// Returns the layout.
    fn layout(&self) -> Layout<'_>;
}

#[diagnostic::do_not_recommend]
impl<L: AsLayout + ?Sized> LayoutField for L {
    #[inline(always)]
    fn layout(&self) -> Layout<'_> {
        AsLayout::layout(self)
    }
}

/// Applies `order = column_major`: contiguous elements, the first axis being
/// the fastest.
#[inline(always)]
pub fn column_major(layout: Layout<'_>) -> Layout<'_> {
    layout.order(Order::ColumnMajor)
}

/// Applies the field `order`: contiguous elements in that order.
#[inline(always)]
pub fn order<'a, O: OrderField>(layout: Layout<'a>, field: &O) -> Layout<'a> {
    match field.order() {
        Ok(order) => layout.order(order),
        Err(error) => layout.refused(error),
    }
}

/// Begins with the field `layout`.
#[inline(always)]
pub fn layout<L: LayoutField + ?Sized>(field: &L) -> Layout<'_> {
    field.layout()
}

// ---- integers ----

/// Roles that any integer can have.
macro_rules! integers {
    ($($(#[$doc:meta])* $role:ident: $message:literal, $note:literal;)+) => {$(
        $(#[$doc])*
        #[diagnostic::on_unimplemented(message = $message, label = "not an integer", note = $note)]
        pub trait $role: Copy {
            /// The type of the number.
            type Int: Dim;

            /// Returns the number.
            fn int(self) -> Self::Int;
        }

        #[diagnostic::do_not_recommend]
        impl<I: Dim> $role for I {
            type Int = I;

            #[inline]
            fn int(self) -> I {
                self
            }
        }
    )+};
}

integers! {
    /// A field that can be the `byte_offset`, which is `offset(bytes)`.
    ByteOffsetField: "`{Self}` cannot be the `byte_offset` of a tensor",
        "use an integer, such as `usize`: the bytes between the start of `data` and the first element";
    /// A field that can be the `offset(elements)`.
    OffsetField: "`{Self}` cannot be the `offset` of a tensor",
        "use an integer, such as `usize`: the elements between the start of `data` and the first one";
    /// A field in `strides(hop, 1)`.
    StrideField: "`{Self}` cannot be one of the `strides` of a tensor",
        "use an integer, such as `usize` or `isize`; a list of all strides is a field marked `#[dlpack(strides)]`";
    /// A field that can be the `pitch`.
    PitchField: "`{Self}` cannot be the `pitch` of a tensor",
        "use an integer, such as `usize`: how far one row is behind the one before it";
    /// A field that can be the `len`.
    LenField: "`{Self}` cannot be the `len` of a tensor",
        "use an integer, such as `usize`: how much of `data` belongs to the tensor";
    /// A field that can be the `ndim`.
    NdimField: "`{Self}` cannot be the `ndim` of a tensor",
        "use an integer, such as `usize`: how many entries of `shape` and `strides` are in use";
}

/// Applies the field `byte_offset`, or `offset(bytes)`.
#[inline(always)]
pub fn byte_offset<'a, I: ByteOffsetField>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.byte_offset(field.int())
}

/// Applies the field `offset(elements)`.
#[inline(always)]
pub fn offset<'a, I: OffsetField>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.offset(field.int())
}

/// Applies the field `pitch(elements)`.
#[inline(always)]
pub fn pitch<'a, I: PitchField>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.pitch(field.int())
}

/// Applies the field `pitch(bytes)`.
#[inline(always)]
pub fn byte_pitch<'a, I: PitchField>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.byte_pitch(field.int())
}

/// Applies the field `len(elements)`.
#[inline(always)]
pub fn len<'a, I: LenField>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.len(field.int())
}

/// Applies the field `len(bytes)`.
#[inline(always)]
pub fn byte_len<'a, I: LenField>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.byte_len(field.int())
}

/// Applies the field `ndim`.
#[inline(always)]
pub fn ndim<'a, I: NdimField>(layout: Layout<'a>, field: &I) -> Layout<'a> {
    layout.rank(field.int())
}

// ---- element type, device, synchronization ----

/// A field that can be the `dtype`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `dtype` of a tensor",
    label = "does not convert into a `DataType`",
    note = "use `dlpack_traits::DataType`, an enum with `#[derive(Clone, DataType)]`, or implement `From<{Self}> for dlpack_traits::DataType` and `Clone for {Self}`",
    note = "if the type is another crate's, name a function that converts it: `#[dlpack(dtype, with = path)]`"
)]
pub trait DTypeField {
    /// Returns the element type.
    fn dtype(&self) -> Result<DataType, Error>;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + TryInto<DataType, Error: Into<Error>>> DTypeField for T {
    #[inline]
    fn dtype(&self) -> Result<DataType, Error> {
        self.clone().try_into().map_err(Into::into)
    }
}

/// Applies the field `dtype`, or a constant.
#[inline(always)]
pub fn dtype<'a, T: DTypeField>(layout: Layout<'a>, field: &T) -> Layout<'a> {
    match field.dtype() {
        Ok(dtype) => layout.dtype(dtype),
        Err(error) => layout.refused(error),
    }
}

/// A field that can be the `device`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `device` of a tensor",
    label = "does not convert into a `Device`",
    note = "use `dlpack_traits::Device`, or implement `From<{Self}> for dlpack_traits::Device` (or `TryFrom`, whose error converts into `dlpack_traits::Error`) and `Clone for {Self}`",
    note = "if the type is another crate's, name a function that converts it: `#[dlpack(device, with = path)]`"
)]
pub trait DeviceField {
    /// Returns the device.
    fn device(&self) -> Result<Device, Error>;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + TryInto<Device, Error: Into<Error>>> DeviceField for T {
    #[inline]
    fn device(&self) -> Result<Device, Error> {
        self.clone().try_into().map_err(Into::into)
    }
}

/// Applies the field `device`.
#[inline(always)]
pub fn device<'a, T: DeviceField>(layout: Layout<'a>, field: &T) -> Layout<'a> {
    match field.device() {
        Ok(device) => layout.device(device),
        Err(error) => layout.refused(error),
    }
}

/// Applies the attribute `padded`.
#[inline(always)]
pub fn padded(layout: Layout<'_>) -> Layout<'_> {
    layout.padded()
}

/// Applies the attribute `spare_capacity`.
#[inline(always)]
pub fn spare_capacity(layout: Layout<'_>) -> Layout<'_> {
    layout.spare_capacity()
}

/// A field that can be the `sync`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be synchronized with a consumer",
    label = "not a `Synchronize`",
    note = "implement `dlpack_traits::Synchronize` for the event or stream that fills the data"
)]
pub trait SyncField {
    /// Waits on the host, or makes the consumer's stream wait.
    fn wait(&self, consumer: StreamArg<'_>) -> Result<(), Error>;
}

#[diagnostic::do_not_recommend]
impl<P: Synchronize + ?Sized> SyncField for P {
    #[inline]
    fn wait(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.sync_for(consumer)
    }
}

/// Applies the field `sync`.
#[inline]
pub fn wait<P: SyncField + ?Sized>(field: &P, consumer: StreamArg<'_>) -> Result<(), Error> {
    field.wait(consumer)
}
