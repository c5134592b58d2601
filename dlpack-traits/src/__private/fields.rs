//! The fields of a struct that describe its layout, by their roles.
//!
//! Each role has a trait, for the message that rustc prints if the type of a
//! field does not fit, and a function. The expansion calls the function once,
//! with the span of the field's type, to which the error points. Errors are
//! passed from one function to the next: a `?` after each call would be most of
//! the compile time of an expansion.

use super::{
    AsDims, AsLayout, DataType, Describe, Device, Dim, Error, Order, Result, Shaped, StreamArg,
    Synchronize,
};

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

/// Applies the field `shape`.
#[inline(always)]
pub fn shape<'a, D: ShapeField + ?Sized>(out: Describe<'a>, field: &'a D) -> Shaped<'a> {
    out.shape(field.list())
}

/// Applies the fields `shape` and `ndim`.
#[inline(always)]
pub fn shape_of_rank<'a, D: ShapeField + ?Sized, I: NdimField>(
    out: Describe<'a>,
    shape: &'a D,
    ndim: &I,
) -> Shaped<'a> {
    out.shape_of_rank(shape.list(), ndim.int())
}

/// Applies the field `strides`.
#[inline(always)]
pub fn strides<'a, D: StridesField + ?Sized>(shaped: Shaped<'a>, field: &'a D) -> Shaped<'a> {
    shaped.strides(field.list())
}

/// Applies the fields `shape` and `strides`.
#[inline(always)]
pub fn shape_and_strides<'a, D: ShapeField + ?Sized, S: StridesField + ?Sized>(
    out: Describe<'a>,
    shape: &'a D,
    strides: &'a S,
) -> Shaped<'a> {
    out.shape_and_strides(shape.list(), strides.list())
}

/// Applies the field `strides(bytes)`.
#[inline(always)]
pub fn byte_strides<'a, D: StridesField + ?Sized>(shaped: Shaped<'a>, field: &D) -> Shaped<'a> {
    shaped.byte_strides(field.list())
}

/// Converts one of the strides in `strides(hop, 1)`; `None` if it does not fit.
#[inline(always)]
pub fn stride<I: StrideField>(stride: &I) -> Option<i64> {
    stride.int().to_i64()
}

/// The strides in a list, or the error for one that does not fit.
fn listed<const N: usize>(list: [Option<i64>; N]) -> Result<[i64; N], Error> {
    let mut strides = [0; N];
    for (axis, (to, from)) in strides.iter_mut().zip(list).enumerate() {
        *to = from.ok_or(Error::StrideTooLarge { axis })?;
    }
    Ok(strides)
}

/// Applies the strides in `strides(hop, 1)`.
#[inline]
pub fn listed_strides<const N: usize>(shaped: Shaped<'_>, list: [Option<i64>; N]) -> Shaped<'_> {
    match listed(list) {
        Ok(strides) => shaped.unranked().strides_from(&strides),
        Err(error) => shaped.refused(error),
    }
}

/// Applies the strides in `byte_strides(pitch, 4)`.
#[inline]
pub fn listed_byte_strides<const N: usize>(
    shaped: Shaped<'_>,
    list: [Option<i64>; N],
) -> Shaped<'_> {
    match listed(list) {
        Ok(strides) => shaped.unranked().byte_strides(&strides),
        Err(error) => shaped.refused(error),
    }
}

/// Converts one of the dimensions in `shape(height, width)`; `None` if it does
/// not fit.
#[inline(always)]
pub fn extent<I: Dim>(dim: &I) -> Option<i64> {
    dim.to_i64()
}

/// Applies the dimensions in `shape(height, width)`.
#[inline(always)]
pub fn extents<const N: usize>(out: Describe<'_>, dims: [Option<i64>; N]) -> Shaped<'_> {
    let mut shape = [0; N];
    for (axis, (to, from)) in shape.iter_mut().zip(dims).enumerate() {
        match from {
            Some(dim) => *to = dim,
            None => return out.refused(Error::DimTooLarge { axis }),
        }
    }
    out.shape_from(&shape)
}

/// Applies the dimensions in `shape(3, Self::WIDTH)`, if all are constant.
#[inline(always)]
pub fn constants<'a, const N: usize>(out: Describe<'a>, dims: &'static [i64; N]) -> Shaped<'a> {
    out.shape(dims)
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
    /// Describes the layout.
    fn layout<'a>(&'a self, out: Describe<'a>) -> Shaped<'a>;
}

#[diagnostic::do_not_recommend]
impl<L: AsLayout + ?Sized> LayoutField for L {
    #[inline(always)]
    fn layout<'a>(&'a self, out: Describe<'a>) -> Shaped<'a> {
        self.describe_layout(out)
    }
}

/// Applies `order = column_major`: contiguous elements, the first axis being
/// the fastest.
#[inline(always)]
pub fn column_major(shaped: Shaped<'_>) -> Shaped<'_> {
    shaped.order(Order::ColumnMajor)
}

/// Applies the field `order`: contiguous elements in that order.
#[inline(always)]
pub fn order<'a, O: OrderField>(shaped: Shaped<'a>, field: &O) -> Shaped<'a> {
    match field.order() {
        Ok(order) => shaped.order(order),
        Err(error) => shaped.refused(error),
    }
}

/// Applies the field `layout`.
#[inline(always)]
pub fn layout<'a, L: LayoutField + ?Sized>(out: Describe<'a>, field: &'a L) -> Shaped<'a> {
    field.layout(out)
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
pub fn byte_offset<'a, I: ByteOffsetField>(shaped: Shaped<'a>, field: &I) -> Shaped<'a> {
    shaped.byte_offset(field.int())
}

/// Applies the field `offset(elements)`.
#[inline(always)]
pub fn offset<'a, I: OffsetField>(shaped: Shaped<'a>, field: &I) -> Shaped<'a> {
    shaped.offset(field.int())
}

/// Applies the field `pitch(elements)`.
#[inline(always)]
pub fn pitch<'a, I: PitchField>(shaped: Shaped<'a>, field: &I) -> Shaped<'a> {
    shaped.pitch(field.int())
}

/// Applies the field `pitch(bytes)`.
#[inline(always)]
pub fn byte_pitch<'a, I: PitchField>(shaped: Shaped<'a>, field: &I) -> Shaped<'a> {
    shaped.byte_pitch(field.int())
}

/// Applies the field `len(elements)`.
#[inline(always)]
pub fn len<'a, I: LenField>(shaped: Shaped<'a>, field: &I) -> Shaped<'a> {
    shaped.len(field.int())
}

/// Applies the field `len(bytes)`.
#[inline(always)]
pub fn byte_len<'a, I: LenField>(shaped: Shaped<'a>, field: &I) -> Shaped<'a> {
    shaped.byte_len(field.int())
}

/// Applies the field `ndim`.
#[inline(always)]
pub fn ndim<'a, I: NdimField>(shaped: Shaped<'a>, field: &I) -> Shaped<'a> {
    shaped.rank(field.int())
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
pub fn dtype<'a, T: DTypeField>(shaped: Shaped<'a>, field: &T) -> Shaped<'a> {
    match field.dtype() {
        Ok(dtype) => shaped.dtype(dtype),
        Err(error) => shaped.refused(error),
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
pub fn device<'a, T: DeviceField>(shaped: Shaped<'a>, field: &T) -> Shaped<'a> {
    match field.device() {
        Ok(device) => shaped.device(device),
        Err(error) => shaped.refused(error),
    }
}

/// Applies the attribute `padded`.
#[inline(always)]
pub fn padded(shaped: Shaped<'_>) -> Shaped<'_> {
    shaped.padded()
}

/// Applies the attribute `spare_capacity`.
#[inline(always)]
pub fn spare_capacity(shaped: Shaped<'_>) -> Shaped<'_> {
    shaped.spare_capacity()
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
