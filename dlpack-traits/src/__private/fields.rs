//! The fields of a struct that describe its layout, by their roles.
//!
//! Each role has a trait, for the sentence that rustc prints when the type of
//! a field does not fit, and a function. The expansion calls it once, with the
//! field's type in the turbofish, where the caret goes. Errors go from one
//! function to the next: a `?` for each would be most of what an expansion
//! costs the compiler.

use super::{
    AsDims, AsLayout, Compact, DataType, Device, Dim, Dims, Error, Layout, Order, Result, Room,
};
use super::{StreamArg, Synchronize};

// ---- dimensions ----

/// A field that can be the `shape`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `shape` of a tensor",
    label = "not a list of integers",
    note = "use an array, `Vec`, `Box` or `Arc` of integers, such as `[usize; 3]` or `Vec<i64>`",
    note = "for a list of your own, or of another crate in a newtype, implement `dlpack_traits::AsDims`"
)]
pub trait ShapeField {
    /// The dimensions.
    fn dims(&self) -> Result<Dims<'_>, Error>;

    /// The dimensions of a compact tensor, written to where they are read.
    fn compact<'r>(&self, room: Room<'r>) -> Option<Compact<'r>>;
}

#[diagnostic::do_not_recommend]
impl<D: AsDims + ?Sized> ShapeField for D {
    #[inline]
    fn dims(&self) -> Result<Dims<'_>, Error> {
        self.as_dims()
    }

    #[inline(always)]
    fn compact<'r>(&self, room: Room<'r>) -> Option<Compact<'r>> {
        self.compact_in(room)
    }
}

/// A field that can be the `strides`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `strides` of a tensor",
    label = "not a list of integers",
    note = "use an array, `Vec`, `Box` or `Arc` of integers, such as `[isize; 3]` or `Vec<i64>`",
    note = "for a list of your own, or of another crate in a newtype, implement `dlpack_traits::AsDims`"
)]
pub trait StridesField {
    /// The strides.
    fn dims(&self) -> Result<Dims<'_>, Error>;
}

#[diagnostic::do_not_recommend]
impl<D: AsDims + ?Sized> StridesField for D {
    #[inline]
    fn dims(&self) -> Result<Dims<'_>, Error> {
        self.as_dims().map_err(Error::of_strides)
    }
}

/// Where dimensions are needed.
pub trait ListTo {
    /// What comes of it.
    type List<'a>;

    /// The dimensions, there.
    fn list<D: ShapeField + ?Sized>(self, field: &D) -> Self::List<'_>;
}

/// On their own.
impl ListTo for () {
    type List<'a> = Result<Dims<'a>, Error>;

    #[inline]
    fn list<D: ShapeField + ?Sized>(self, field: &D) -> Self::List<'_> {
        field.dims()
    }
}

/// Where the consumer of a compact tensor reads them.
impl<'r> ListTo for Room<'r> {
    type List<'a> = Option<Compact<'r>>;

    #[inline(always)]
    fn list<D: ShapeField + ?Sized>(self, field: &D) -> Self::List<'_> {
        field.compact(self)
    }
}

/// The field `shape`. One function for both, so that a type that does not fit
/// is one error.
#[inline(always)]
pub fn shape<D: ShapeField + ?Sized, To: ListTo>(to: To, field: &D) -> To::List<'_> {
    to.list(field)
}

/// The dimensions in `shape(height, width)` of a compact tensor.
#[inline(always)]
pub fn compact_extents<const N: usize>(
    room: Room<'_>,
    dims: [Option<i64>; N],
) -> Option<Compact<'_>> {
    room.fill_with(&dims, |&dim| dim)
}

/// The dimensions in `shape(3, Self::WIDTH)` of a compact tensor.
#[inline(always)]
pub fn compact_constants<'r, const N: usize>(
    room: Room<'r>,
    dims: &'static [i64; N],
) -> Option<Compact<'r>> {
    room.fill(dims)
}

/// The field `strides`.
#[inline]
pub fn strides<D: StridesField + ?Sized>(field: &D) -> Result<Dims<'_>, Error> {
    field.dims()
}

/// One of the dimensions in `shape(height, width)`, if it fits.
#[inline]
pub fn extent<I: Dim>(dim: &I) -> Option<i64> {
    dim.to_i64()
}

/// The dimensions in `shape(height, width)`.
#[inline]
pub fn extents<const N: usize>(dims: [Option<i64>; N]) -> Result<Dims<'static>, Error> {
    Dims::filled(N, |filled| {
        for (axis, (to, from)) in filled.iter_mut().zip(dims).enumerate() {
            *to = from.ok_or(Error::DimTooLarge { axis })?;
        }
        Ok(())
    })
}

/// The dimensions in `shape(3, Self::WIDTH)`, which are constant.
#[inline]
pub const fn constants<const N: usize>(dims: &'static [i64; N]) -> Result<Dims<'static>, Error> {
    Ok(Dims::borrowed(dims))
}

// ---- placement ----

/// A field that can be the `order`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `order` of a tensor",
    label = "does not convert into an `Order`",
    note = "use `dlpack_traits::Order`, or implement `From<{Self}> for dlpack_traits::Order` and `Clone for {Self}`",
    note = "if the type is another crate's, do so for a newtype that holds it"
)]
pub trait OrderField {
    /// The order.
    fn order(&self) -> Order;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + Into<Order>> OrderField for T {
    #[inline]
    fn order(&self) -> Order {
        self.clone().into()
    }
}

/// A field that can be the `layout`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `layout` of a tensor",
    label = "not an `AsLayout`",
    note = "add `#[derive(AsLayout)]` to `{Self}`, or implement `dlpack_traits::AsLayout`"
)]
pub trait LayoutField {
    /// The layout.
    fn layout(&self) -> Result<Layout<'_>, Error>;
}

#[diagnostic::do_not_recommend]
impl<L: AsLayout + ?Sized> LayoutField for L {
    #[inline]
    fn layout(&self) -> Result<Layout<'_>, Error> {
        self.as_layout()
    }
}

/// Compact elements, the last axis being the fastest.
#[inline]
pub fn row_major(shape: Result<Dims<'_>, Error>) -> Result<Layout<'_>, Error> {
    Ok(Layout::of_compact(shape?, Order::RowMajor))
}

/// Compact elements, the first axis being the fastest.
#[inline]
pub fn column_major(shape: Result<Dims<'_>, Error>) -> Result<Layout<'_>, Error> {
    Ok(Layout::of_compact(shape?, Order::ColumnMajor))
}

/// Compact elements in the order of the field `order`.
#[inline]
pub fn ordered<'a, O: OrderField>(
    shape: Result<Dims<'a>, Error>,
    field: &O,
) -> Result<Layout<'a>, Error> {
    Ok(Layout::of_compact(shape?, field.order()))
}

/// Elements at strides that count elements.
#[inline]
pub fn strided<'a>(
    shape: Result<Dims<'a>, Error>,
    strides: Result<Dims<'a>, Error>,
) -> Result<Layout<'a>, Error> {
    Ok(Layout::of_strides(shape?, strides?))
}

/// Elements at strides that count bytes.
#[inline]
pub fn byte_strided<'a>(
    shape: Result<Dims<'a>, Error>,
    strides: Result<Dims<'a>, Error>,
) -> Result<Layout<'a>, Error> {
    Ok(Layout::of_byte_strides(shape?, strides?))
}

/// The field `layout`.
#[inline]
pub fn layout<L: LayoutField + ?Sized>(field: &L) -> Result<Layout<'_>, Error> {
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

            /// The number.
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

/// The field `byte_offset`, or `offset(bytes)`.
#[inline]
pub fn byte_offset<'a, I: ByteOffsetField>(
    layout: Result<Layout<'a>, Error>,
    field: &I,
) -> Result<Layout<'a>, Error> {
    layout?.byte_offset(field.int())
}

/// The field `offset(elements)`.
#[inline]
pub fn offset<'a, I: OffsetField>(
    layout: Result<Layout<'a>, Error>,
    field: &I,
) -> Result<Layout<'a>, Error> {
    layout?.offset(field.int())
}

/// The field `pitch(elements)`.
#[inline]
pub fn pitch<'a, I: PitchField>(
    layout: Result<Layout<'a>, Error>,
    field: &I,
) -> Result<Layout<'a>, Error> {
    layout?.pitch(field.int())
}

/// The field `pitch(bytes)`.
#[inline]
pub fn byte_pitch<'a, I: PitchField>(
    layout: Result<Layout<'a>, Error>,
    field: &I,
) -> Result<Layout<'a>, Error> {
    layout?.byte_pitch(field.int())
}

/// The field `len(elements)`.
#[inline]
pub fn len<'a, I: LenField>(
    layout: Result<Layout<'a>, Error>,
    field: &I,
) -> Result<Layout<'a>, Error> {
    layout?.len(field.int())
}

/// The field `len(bytes)`.
#[inline]
pub fn byte_len<'a, I: LenField>(
    layout: Result<Layout<'a>, Error>,
    field: &I,
) -> Result<Layout<'a>, Error> {
    layout?.byte_len(field.int())
}

/// The field `ndim`.
#[inline]
pub fn ndim<'a, I: NdimField>(
    layout: Result<Layout<'a>, Error>,
    field: &I,
) -> Result<Layout<'a>, Error> {
    layout?.rank(field.int())
}

// ---- what the elements are, where, and since when ----

/// A field that can be the `dtype`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `dtype` of a tensor",
    label = "does not convert into a `DataType`",
    note = "use `dlpack_traits::DataType`, an enum with `#[derive(Clone, DataType)]`, or implement `From<{Self}> for dlpack_traits::DataType` and `Clone for {Self}`",
    note = "if the type is another crate's, do so for a newtype that holds it"
)]
pub trait DTypeField {
    /// The type.
    fn dtype(&self) -> Result<DataType, Error>;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + TryInto<DataType, Error: Into<Error>>> DTypeField for T {
    #[inline]
    fn dtype(&self) -> Result<DataType, Error> {
        self.clone().try_into().map_err(Into::into)
    }
}

/// The field `dtype`, or a constant.
#[inline]
pub fn dtype<'a, T: DTypeField>(
    layout: Result<Layout<'a>, Error>,
    field: &T,
) -> Result<Layout<'a>, Error> {
    Ok(layout?.dtype(field.dtype()?))
}

/// A field that can be the `device`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `device` of a tensor",
    label = "does not convert into a `Device`",
    note = "use `dlpack_traits::Device`, or implement `From<{Self}> for dlpack_traits::Device` and `Clone for {Self}`",
    note = "if the type is another crate's, do so for a newtype that holds it"
)]
pub trait DeviceField {
    /// The device.
    fn device(&self) -> Device;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + Into<Device>> DeviceField for T {
    #[inline]
    fn device(&self) -> Device {
        self.clone().into()
    }
}

/// The field `device`.
#[inline]
pub fn device<'a, T: DeviceField>(
    layout: Result<Layout<'a>, Error>,
    field: &T,
) -> Result<Layout<'a>, Error> {
    Ok(layout?.device(field.device()))
}

/// The attribute `padded`.
#[inline]
pub fn padded(layout: Result<Layout<'_>, Error>) -> Result<Layout<'_>, Error> {
    Ok(layout?.padded())
}

/// A field that can be the `sync`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be synchronized with a consumer",
    label = "not a `Synchronize`",
    note = "implement `dlpack_traits::Synchronize` for the event or stream that fills the data"
)]
pub trait SyncField {
    /// Waits, or lets the consumer's stream wait.
    fn wait(&self, consumer: StreamArg<'_>) -> Result<(), Error>;
}

#[diagnostic::do_not_recommend]
impl<P: Synchronize + ?Sized> SyncField for P {
    #[inline]
    fn wait(&self, consumer: StreamArg<'_>) -> Result<(), Error> {
        self.sync_for(consumer)
    }
}

/// The field `sync`.
#[inline]
pub fn wait<P: SyncField + ?Sized>(field: &P, consumer: StreamArg<'_>) -> Result<(), Error> {
    field.wait(consumer)
}
