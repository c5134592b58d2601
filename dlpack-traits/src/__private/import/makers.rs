//! Fields that say both what they need of a tensor and how they are made of it.
//!
//! For each of them the expansion calls one function, in both places: a type
//! that does not fit is then the same error twice, which rustc prints once.

use super::parts::{Parts, Place};
use super::wants::{Want, byte_len};
use super::{
    DLPackImport, DataType, Error, FromDims, FromElements, FromLayout, ImportError, ImportStorage,
    Imported, Order, Unmet,
};
use crate::element::Element;
use crate::import::{copy_elements, elements_are, on_host};

/// The field `shape`.
#[derive(Debug)]
pub struct Shape<D> {
    capacity: Option<usize>,
    make: fn(&Parts) -> Result<D, ImportError>,
}

/// The field `shape`.
pub const fn shape<D: FromDims>() -> Shape<D> {
    Shape { capacity: D::CAPACITY, make: |tensor| tensor.fits(D::from_dims(tensor.tensor.shape())) }
}

impl<D> Shape<D> {
    /// As many dimensions as it holds.
    pub const fn filled(&self) -> Want<'static> {
        Want::Filled(self.capacity)
    }

    /// No more dimensions than it holds.
    pub const fn with_room(&self) -> Want<'static> {
        Want::Room(self.capacity)
    }

    /// The shape of that tensor.
    pub fn of(&self, tensor: &Parts) -> Result<D, ImportError> {
        (self.make)(tensor)
    }
}

/// The field `layout`.
#[derive(Debug)]
pub struct Layout<L> {
    order: Order,
    accepts: fn(&Imported) -> Result<(), Unmet>,
    accepts_copied: fn(&Imported) -> Result<(), Unmet>,
    make: fn(&Parts) -> Result<L, ImportError>,
}

/// The field `layout`.
pub const fn layout<L: FromLayout>() -> Layout<L> {
    Layout {
        order: L::ORDER,
        accepts: |tensor| L::accepts(tensor, false),
        accepts_copied: |tensor| L::accepts(tensor, true),
        make: L::from_layout,
    }
}

impl<L> Layout<L> {
    /// Elements that it can describe where they are.
    pub const fn held(&self) -> Want<'static> {
        Want::Data(self.accepts)
    }

    /// Elements that it can describe when they are copied.
    pub const fn copied(&self) -> Want<'static> {
        Want::Data(self.accepts_copied)
    }

    /// The order of that copy.
    pub const fn order(&self) -> Order {
        self.order
    }

    /// A copy as it needs it.
    pub const fn place(&self) -> Place {
        Place::Copied(self.order)
    }

    /// The layout of that tensor.
    pub fn of(&self, tensor: &Parts) -> Result<L, ImportError> {
        (self.make)(tensor)
    }
}

/// The field `data`.
#[derive(Debug)]
pub struct Data<D> {
    accepts: fn(&Imported) -> Result<(), Unmet>,
    make: fn(Parts) -> Result<D, ImportError>,
}

impl<D> Data<D> {
    /// What it can hold.
    pub const fn wanted(&self) -> Want<'static> {
        Want::Data(self.accepts)
    }

    /// The elements of that tensor.
    pub fn of(&self, tensor: Parts) -> Result<D, ImportError> {
        (self.make)(tensor)
    }
}

/// The field `data`, where it holds the memory.
pub const fn held<D: ImportStorage>() -> Data<D> {
    Data { accepts: D::accepts, make: |tensor| Ok(D::from_imported(tensor.tensor)?) }
}

/// The field `data`, where it is marked `copy`.
pub const fn copied<D: FromElements>() -> Data<D> {
    Data { accepts: copied_accepts::<D>, make: |tensor| copy(&tensor) }
}

/// Likewise, in a struct that says of what type the elements are.
pub const fn copied_as<D: FromElements>() -> Data<D> {
    Data { accepts: copied_as_accepts::<D>, make: |tensor| copy(&tensor) }
}

fn copy<D: FromElements>(tensor: &Parts) -> Result<D, ImportError> {
    let order = match tensor.place {
        Place::Copied(order) => order,
        Place::Held => Order::RowMajor,
    };
    Ok(D::from_elements(copy_elements(&tensor.tensor, order)?)?)
}

/// What a field that is marked `copy` needs.
fn copied_accepts<D: FromElements>(tensor: &Imported) -> Result<(), Unmet> {
    elements_are(tensor, <D::Element as Element>::DTYPE)?;
    match D::LEN {
        Some(needed) if i64::try_from(needed) != Ok(tensor.numel()) => {
            Err(Unmet::Numel { needed, found: tensor.numel() })
        }
        _ => Ok(()),
    }
}

/// Likewise, in a struct that says of what type the elements are: bytes may
/// then hold any.
fn copied_as_accepts<D: FromElements>(tensor: &Imported) -> Result<(), Unmet> {
    if <D::Element as Element>::DTYPE != DataType::U8 {
        return copied_accepts::<D>(tensor);
    }
    on_host(tensor)?;
    match D::LEN {
        Some(needed) if needed != byte_len(tensor) => {
            let found = i64::try_from(byte_len(tensor)).unwrap_or(i64::MAX);
            Err(Unmet::Numel { needed, found })
        }
        _ => Ok(()),
    }
}

/// The importable in a newtype, or in a variant.
#[derive(Debug)]
pub struct Inner<T> {
    /// Whether it accepts a tensor.
    pub accepts: fn(&Imported) -> Result<(), ImportError>,
    make: fn(Imported) -> Result<T, ImportError>,
}

/// The importable in a newtype, or in a variant.
pub const fn inner<T: DLPackImport>() -> Inner<T> {
    Inner { accepts: T::accepts, make: T::from_dlpack }
}

impl<T> Inner<T> {
    /// What is made of that tensor.
    pub fn of(&self, tensor: Imported) -> Result<T, ImportError> {
        (self.make)(tensor)
    }
}

/// The storage in a variant of an enum of storages.
#[derive(Debug)]
pub struct Storage<D> {
    /// Whether it can hold a tensor.
    pub accepts: fn(&Imported) -> Result<(), Unmet>,
    make: fn(Imported) -> Result<D, Error>,
}

/// The storage in a variant of an enum of storages.
pub const fn storage<D: ImportStorage>() -> Storage<D> {
    Storage { accepts: D::accepts, make: D::from_imported }
}

impl<D> Storage<D> {
    /// It, holding that tensor.
    pub fn of(&self, tensor: Imported) -> Result<D, Error> {
        (self.make)(tensor)
    }
}
