//! Fields that have both requirements on a tensor and a constructor from it; [`FromLayout`], for
//! the type of the field `layout`.
//!
//! The expansion calls one function per field, in both places: a type that does
//! not fit causes the same error twice, which rustc prints once.

use super::accepted::{Accepted, Kept};
use super::requirements::{AxesOf, LayoutAccepts, Requirement, byte_len, has_axes};
use super::{
    DataType, FromDims, FromElements, ImportError, ImportStorage, ImportedTensor, MismatchKind,
    Order,
};
use crate::element::Element;
use crate::import::{ElementCopy, elements_are, on_host};

/// The field `shape`.
#[derive(Debug)]
pub struct Shape<D> {
    /// The maximum number of dimensions, if its type limits it.
    pub capacity: Option<usize>,
    /// Makes the field.
    pub make: fn(&Accepted<'_>) -> Result<D, ImportError>,
}

/// Returns the maker of the field `shape`.
pub const fn shape<D: FromDims>() -> Shape<D> {
    Shape { capacity: D::CAPACITY, make: |tensor| tensor.fits(D::from_dims(tensor.shape())) }
}

/// A field that can hold the `layout`: its type derives `FromLayout`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the `layout` of an imported tensor",
    label = "not a `FromLayout`",
    note = "add `#[derive(FromLayout)]` to `{Self}`, beside `AsLayout`"
)]
pub trait FromLayout: Sized {
    /// The order of a copy that is made for this layout.
    const ORDER: Order;

    /// Checks whether it can describe the elements in the memory of the tensor,
    /// or a copy of them.
    fn accepts(tensor: &ImportedTensor, shape: &[i64], copied: bool) -> Result<(), MismatchKind>;

    /// Makes the layout.
    fn from_layout(tensor: &Accepted<'_>) -> Result<Self, ImportError>;
}

/// [`FromLayout::accepts`].
pub fn meets(
    tensor: &ImportedTensor,
    shape: &[i64],
    copied: bool,
    wants: &[Requirement<'_>],
) -> Result<(), MismatchKind> {
    let mut wants = wants.iter().filter(|want| want.is_about(copied));
    wants.try_for_each(|want| want.meets(tensor, shape))
}

/// The field `layout`.
#[derive(Debug)]
pub struct Layout<L> {
    /// The order of a copy.
    pub order: Order,
    /// Checks whether its type can describe the elements.
    pub accepts: LayoutAccepts,
    /// Makes the field.
    pub make: fn(&Accepted<'_>) -> Result<L, ImportError>,
}

/// Returns the maker of the field `layout`.
pub const fn layout<L: FromLayout>() -> Layout<L> {
    Layout { order: L::ORDER, accepts: L::accepts, make: L::from_layout }
}

/// The field `data`.
#[derive(Debug)]
pub struct Data<D> {
    /// The requirement of its type.
    pub want: Requirement<'static>,
    /// The requirement on strides and offset of a struct that has no fields for them.
    pub kept: Requirement<'static>,
    axes: AxesOf,
    /// Makes the field.
    pub make: fn(Kept, ImportedTensor) -> Result<D, ImportError>,
}

impl<D> Data<D> {
    /// The location of elements that are copied in that order.
    pub fn place(&self, tensor: &ImportedTensor, order: Order) -> Kept {
        Kept::Copied(order, (self.axes)(tensor))
    }

    /// The location of elements that stay in the memory of the tensor.
    pub fn in_place(&self, tensor: &ImportedTensor) -> Kept {
        Kept::InTensor((self.axes)(tensor))
    }
}

/// Returns the maker of a field `data` that holds the memory.
pub const fn held<D: ImportStorage>() -> Data<D> {
    Data {
        want: Requirement::Data(held_accepts::<D>, D::axes),
        kept: Requirement::Kept(D::keeps_strides),
        axes: D::axes,
        make: |_, tensor| Ok(D::from_imported(tensor)?),
    }
}

/// Returns the maker of a field `data` that is marked `copy`.
pub const fn copied<D: FromElements>() -> Data<D> {
    copied_if(copied_accepts::<D>)
}

/// Likewise, for a struct that has a `dtype`.
pub const fn copied_as<D: FromElements>() -> Data<D> {
    copied_if(copied_as_accepts::<D>)
}

const fn copied_if<D: FromElements>(
    accepts: fn(&ImportedTensor) -> Result<(), MismatchKind>,
) -> Data<D> {
    Data {
        want: Requirement::Data(accepts, |_| <D::Element as Element>::AXES),
        kept: Requirement::Kept(|_| true),
        axes: |_| <D::Element as Element>::AXES,
        make: |place, tensor| copy(&tensor, place),
    }
}

fn copy<D: FromElements>(tensor: &ImportedTensor, place: Kept) -> Result<D, ImportError> {
    let order = match place {
        Kept::Copied(order, _) => order,
        Kept::InTensor(_) => Order::RowMajor,
    };
    Ok(D::from_copy(&ElementCopy::new(tensor, order)?)?)
}

/// The requirement of a field that holds the memory.
fn held_accepts<D: ImportStorage>(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
    D::accepts(tensor)?;
    has_axes(tensor, D::axes(tensor))
}

/// The requirement of a field that is marked `copy`.
fn copied_accepts<D: FromElements>(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
    elements_are(tensor, <D::Element as Element>::DTYPE)?;
    let axes = <D::Element as Element>::AXES;
    if !tensor.shape().ends_with(axes) {
        return Err(MismatchKind::Axes { needed: axes });
    }
    let found = tensor.numel().checked_div(axes.iter().product()).unwrap_or(0);
    match D::LEN {
        Some(needed) if i64::try_from(needed) != Ok(found) => {
            Err(MismatchKind::Numel { needed, found })
        }
        _ => Ok(()),
    }
}

/// Likewise, for a struct that has a `dtype`: a list of bytes may then hold
/// elements of any type.
fn copied_as_accepts<D: FromElements>(tensor: &ImportedTensor) -> Result<(), MismatchKind> {
    let bytes = <D::Element as Element>::DTYPE == DataType::U8;
    if !bytes || !<D::Element as Element>::AXES.is_empty() {
        return copied_accepts::<D>(tensor);
    }
    on_host(tensor)?;
    match D::LEN {
        Some(needed) if needed != byte_len(tensor) => {
            let found = i64::try_from(byte_len(tensor)).unwrap_or(i64::MAX);
            Err(MismatchKind::Numel { needed, found })
        }
        _ => Ok(()),
    }
}
