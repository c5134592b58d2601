//! What the expansion of the derive may name. Not public API: it changes with
//! any release, and nothing else may use it.

pub use core::option::Option;
pub use core::primitive::i64;
pub use core::result::Result;

pub use crate::described::Layout;
pub use crate::device::Device;
pub use crate::dims::{AsDims, Dim};
pub use crate::dtype::DataType;
pub use crate::error::Error;
pub use crate::export::DLPackExport;
pub use crate::storage::{SharedOwner, Storage};
pub use crate::stream::StreamArg;
pub use crate::view::{Lend, TensorView};

/// The types of the fields of a struct, by their roles.
///
/// The bounds are asked for here, with the caret on the field's type, and the
/// functions below take them from here. So a field of a wrong type is one
/// error, however many methods touch it.
///
/// `Here` is a type that only the expansion can name. It makes the impl
/// private, so that a public struct may have fields of private types.
pub trait Roles<Here> {
    /// Holds the elements.
    type Data: Storage + ?Sized;
    /// Extents.
    type Shape: ShapeField + ?Sized;
    /// Strides, in elements.
    type Strides: StridesField + ?Sized;
    /// Offset of the first element, in bytes.
    type ByteOffset: ByteOffsetField;
    /// Element type.
    type DType: DTypeField;
    /// Device.
    type Device: DeviceField;
}

/// The fields that describe the layout, borrowed.
#[derive(Debug)]
pub struct LayoutFields<'a, Here, S: Roles<Here> + ?Sized> {
    /// Extents.
    pub shape: &'a S::Shape,
    /// Strides, in elements.
    pub strides: &'a S::Strides,
    /// Offset of the first element, in bytes.
    pub byte_offset: &'a S::ByteOffset,
    /// Element type.
    pub dtype: &'a S::DType,
    /// Device.
    pub device: &'a S::Device,
}

/// The shape of every value of a struct.
pub trait ConstantShape<Here>: Roles<Here, Shape: Sized> {
    /// The dimensions.
    const SHAPE: Self::Shape;
}

/// [`DLPackExport::tensor`].
#[inline]
pub fn tensor<'a, Here, S: Roles<Here> + ?Sized>(
    data: &'a S::Data,
    fields: LayoutFields<'a, Here, S>,
) -> Result<TensorView<'a>, Error> {
    TensorView::new(data.data(), fields.layout()?)
}

/// [`DLPackExport::tensor`] of a struct that is `read_only`.
#[inline]
pub fn read_only_tensor<'a, Here, S: Roles<Here> + ?Sized>(
    data: &'a S::Data,
    fields: LayoutFields<'a, Here, S>,
) -> Result<TensorView<'a>, Error> {
    tensor(data, fields).map(TensorView::into_read_only)
}

/// [`DLPackExport::lend`].
#[inline]
pub fn lend<'a, Here, S: Roles<Here> + ?Sized>(
    data: &'a mut S::Data,
    fields: LayoutFields<'a, Here, S>,
) -> Result<Lend<'a>, Error> {
    Lend::new(data.lend(), fields.layout()?)
}

/// [`DLPackExport::hand_off`].
#[inline]
pub fn hand_off<Here, S: Roles<Here> + ?Sized>(
    data: &S::Data,
    consumer: StreamArg<'_>,
) -> Result<(), Error> {
    data.hand_off(consumer)
}

/// [`DLPackExport::share`].
#[inline]
pub fn share<Here, S: Roles<Here> + ?Sized>(data: &S::Data) -> Option<SharedOwner> {
    data.share()
}

impl<'a, Here, S: Roles<Here> + ?Sized> LayoutFields<'a, Here, S> {
    #[inline]
    fn layout(self) -> Result<Layout<'a>, Error> {
        let layout = self.strides.layout(self.shape)?;
        let layout = self.byte_offset.apply(layout)?;
        Ok(self.device.apply(self.dtype.apply(layout)?))
    }
}

/// Stands for a role that no field has.
#[derive(Debug)]
pub struct Absent;

/// A field that can be the `shape`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `shape` of a tensor",
    label = "not a list of integers",
    note = "use an array, `Vec`, `Box` or `Arc` of integers, such as `[usize; 3]` or `Vec<i64>`"
)]
pub trait ShapeField {
    /// Elements in row-major order.
    fn row_major(&self) -> Result<Layout<'_>, Error>;

    /// Elements at these strides.
    fn strided<'a, S: AsDims + ?Sized>(&'a self, strides: &'a S) -> Result<Layout<'a>, Error>;
}

#[diagnostic::do_not_recommend]
impl<D: AsDims + ?Sized> ShapeField for D {
    #[inline]
    fn row_major(&self) -> Result<Layout<'_>, Error> {
        Layout::row_major(self)
    }

    #[inline]
    fn strided<'a, S: AsDims + ?Sized>(&'a self, strides: &'a S) -> Result<Layout<'a>, Error> {
        Layout::strided(self, strides)
    }
}

/// A field that can be the `strides`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `strides` of a tensor",
    label = "not a list of integers",
    note = "use an array, `Vec`, `Box` or `Arc` of integers, such as `[isize; 3]` or `Vec<i64>`"
)]
pub trait StridesField {
    /// Elements at these strides, or in row-major order.
    fn layout<'a, D: ShapeField + ?Sized>(&'a self, shape: &'a D) -> Result<Layout<'a>, Error>;
}

#[diagnostic::do_not_recommend]
impl<S: AsDims + ?Sized> StridesField for S {
    #[inline]
    fn layout<'a, D: ShapeField + ?Sized>(&'a self, shape: &'a D) -> Result<Layout<'a>, Error> {
        shape.strided(self)
    }
}

impl StridesField for Absent {
    #[inline]
    fn layout<'a, D: ShapeField + ?Sized>(&'a self, shape: &'a D) -> Result<Layout<'a>, Error> {
        shape.row_major()
    }
}

/// A field that can be the `byte_offset`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `byte_offset` of a tensor",
    label = "not an integer",
    note = "use an integer, such as `usize`: the bytes between the start of `data` and the first element"
)]
pub trait ByteOffsetField {
    /// Moves the first element.
    fn apply<'a>(&self, layout: Layout<'a>) -> Result<Layout<'a>, Error>;
}

#[diagnostic::do_not_recommend]
impl<I: Dim> ByteOffsetField for I {
    #[inline]
    fn apply<'a>(&self, layout: Layout<'a>) -> Result<Layout<'a>, Error> {
        layout.byte_offset(*self)
    }
}

impl ByteOffsetField for Absent {
    #[inline]
    fn apply<'a>(&self, layout: Layout<'a>) -> Result<Layout<'a>, Error> {
        Ok(layout)
    }
}

/// A field that can be the `dtype`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `dtype` of a tensor",
    label = "does not convert into a `DataType`",
    note = "use `dlpack_traits::DataType`, or implement `From<{Self}> for DataType` and `Clone for {Self}`"
)]
pub trait DTypeField {
    /// Says the element type.
    fn apply<'a>(&self, layout: Layout<'a>) -> Result<Layout<'a>, Error>;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + TryInto<DataType, Error: Into<Error>>> DTypeField for T {
    #[inline]
    fn apply<'a>(&self, layout: Layout<'a>) -> Result<Layout<'a>, Error> {
        let dtype: DataType = self.clone().try_into().map_err(Into::into)?;
        Ok(layout.dtype(dtype))
    }
}

impl DTypeField for Absent {
    #[inline]
    fn apply<'a>(&self, layout: Layout<'a>) -> Result<Layout<'a>, Error> {
        Ok(layout)
    }
}

/// A field that can be the `device`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the `device` of a tensor",
    label = "does not convert into a `Device`",
    note = "use `dlpack_traits::Device`, or implement `From<{Self}> for Device` and `Clone for {Self}`"
)]
pub trait DeviceField {
    /// Says the device.
    fn apply<'a>(&self, layout: Layout<'a>) -> Layout<'a>;
}

#[diagnostic::do_not_recommend]
impl<T: Clone + Into<Device>> DeviceField for T {
    #[inline]
    fn apply<'a>(&self, layout: Layout<'a>) -> Layout<'a> {
        layout.device(self.clone())
    }
}

impl DeviceField for Absent {
    #[inline]
    fn apply<'a>(&self, layout: Layout<'a>) -> Layout<'a> {
        layout
    }
}

/// Asks that a named constant is an integer.
pub const fn integer<I: Dim>(constant: I) -> I {
    constant
}

/// A named constant as a dimension.
///
/// # Panics
///
/// At compile time, if it is negative or does not fit.
pub const fn dim(constant: i128) -> i64 {
    assert!(constant >= 0, "a dimension of `#[dlpack(shape = [..])]` cannot be negative");
    assert!(
        constant <= i64::MAX as i128,
        "a dimension of `#[dlpack(shape = [..])]` must fit in an `i64`"
    );
    #[expect(clippy::cast_possible_truncation, reason = "asserted above")]
    let dim = constant as i64;
    dim
}

/// Asks for something that a deleter may drop, with the caret on the field's type.
pub const fn assert_owner<T: TensorOwner + ?Sized>() {}

/// Asks for as many strides as dimensions, where both are known to the compiler.
pub const fn assert_same_rank<const SHAPE: usize, const STRIDES: usize>()
where
    Ranks: SameRank<SHAPE, STRIDES>,
{
}

/// What an exported tensor may own: `Send + 'static`, in our words.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot own the data of an exported tensor",
    label = "must be `Send + 'static`",
    note = "the consumer may drop the tensor on any thread, long after this scope ends",
    note = "use `Arc` instead of `Rc`, and own the buffer instead of borrowing it",
    note = "a field that is no part of the tensor, in a struct that is `Send` by its own `unsafe impl`, can be marked `#[dlpack(skip)]`"
)]
pub trait TensorOwner {}

#[diagnostic::do_not_recommend]
impl<T: Send + ?Sized + 'static> TensorOwner for T {}

/// Carries the ranks of [`assert_same_rank`].
#[derive(Debug)]
pub struct Ranks;

/// Two ranks that are the same.
#[diagnostic::on_unimplemented(
    message = "`strides` has {STRIDES} entries but `shape` has {SHAPE}",
    label = "rank mismatch",
    note = "DLPack needs one stride per dimension; leave `strides` out for a compact row-major tensor"
)]
pub trait SameRank<const SHAPE: usize, const STRIDES: usize> {}

impl<const N: usize> SameRank<N, N> for Ranks {}
