//! Fields that have both requirements on a tensor and a constructor from it; [`FromLayout`], for
//! the type of the field `layout`.
//!
//! The expansion calls one function per field, in both places: a type that does
//! not fit causes the same error twice, which rustc prints once.

use super::accepted::{Accepted, Place};
use super::requirements::{AxesOf, KeepsStrides, LayoutAccepts, Requirement, byte_len, has_axes};
use super::{
    Copies, DLPackImport, DataType, Error, FromDims, FromElements, ImportError, ImportStorage,
    ImportedTensor, MismatchKind, Order,
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
    order: Order,
    accepts: LayoutAccepts,
    /// Makes the field.
    pub make: fn(&Accepted<'_>) -> Result<L, ImportError>,
}

/// Returns the maker of the field `layout`.
pub const fn layout<L: FromLayout>() -> Layout<L> {
    Layout { order: L::ORDER, accepts: L::accepts, make: L::from_layout }
}

impl<L> Layout<L> {
    /// The requirement on elements that stay in the memory of the tensor.
    pub const fn held(&self) -> Requirement<'static> {
        Requirement::Layout(self.accepts, false)
    }

    /// The requirement on elements that are copied.
    pub const fn copied(&self) -> Requirement<'static> {
        Requirement::Layout(self.accepts, true)
    }

    /// The order of the copy.
    pub const fn order(&self) -> Order {
        self.order
    }
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
    pub make: fn(Place, ImportedTensor) -> Result<D, ImportError>,
}

impl<D> Data<D> {
    /// The location of elements that are copied in that order.
    pub fn place(&self, tensor: &ImportedTensor, order: Order) -> Place {
        Place::Copied(order, (self.axes)(tensor))
    }

    /// The location of elements that stay in the memory of the tensor.
    pub fn in_place(&self, tensor: &ImportedTensor) -> Place {
        Place::InTensor((self.axes)(tensor))
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
    Data {
        want: Requirement::Data(copied_accepts::<D>, |_| <D::Element as Element>::AXES),
        kept: Requirement::Kept(|_| true),
        axes: |_| <D::Element as Element>::AXES,
        make: |place, tensor| copy(&tensor, place),
    }
}

/// Likewise, for a struct that has a `dtype`.
pub const fn copied_as<D: FromElements>() -> Data<D> {
    Data {
        want: Requirement::Data(copied_as_accepts::<D>, |_| <D::Element as Element>::AXES),
        kept: Requirement::Kept(|_| true),
        axes: |_| <D::Element as Element>::AXES,
        make: |place, tensor| copy(&tensor, place),
    }
}

fn copy<D: FromElements>(tensor: &ImportedTensor, place: Place) -> Result<D, ImportError> {
    let order = match place {
        Place::Copied(order, _) => order,
        Place::InTensor(_) => Order::RowMajor,
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

/// The importable value in a newtype, or in a variant.
#[derive(Debug)]
pub struct Inner<T> {
    /// Checks whether its type accepts a tensor.
    pub accepts: fn(&ImportedTensor) -> Result<(), ImportError>,
    /// Whether its type copies the elements of tensors.
    pub copies: Copies,
    /// Whether its type copies the elements of a given tensor.
    pub copies_of: fn(&ImportedTensor) -> bool,
    make: fn(ImportedTensor) -> Result<T, ImportError>,
}

/// Returns the maker of the value in a newtype, or in a variant.
pub const fn inner<T: DLPackImport>() -> Inner<T> {
    Inner { accepts: T::accepts, copies: T::COPIES, copies_of: T::copies, make: T::from_dlpack }
}

impl<T> Inner<T> {
    /// Makes the value from a tensor.
    pub fn of(&self, tensor: ImportedTensor) -> Result<T, ImportError> {
        (self.make)(tensor)
    }
}

/// The storage in a variant of an enum of storages.
#[derive(Debug)]
pub struct Storage<D> {
    /// Checks whether it can hold a tensor.
    pub accepts: fn(&ImportedTensor) -> Result<(), MismatchKind>,
    /// The axes of each element of an accepted tensor.
    pub axes: AxesOf,
    /// Whether it keeps the strides of an accepted tensor.
    pub keeps_strides: KeepsStrides,
    make: fn(ImportedTensor) -> Result<D, Error>,
}

/// Returns the maker of the storage in a variant of an enum of storages.
pub const fn storage<D: ImportStorage>() -> Storage<D> {
    Storage {
        accepts: D::accepts,
        axes: D::axes,
        keeps_strides: D::keeps_strides,
        make: D::from_imported,
    }
}

impl<D> Storage<D> {
    /// Makes the storage from a tensor.
    pub fn of(&self, tensor: ImportedTensor) -> Result<D, Error> {
        (self.make)(tensor)
    }
}
