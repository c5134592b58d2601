//! Shares the storage in a variant of an enum as an owner of known type: [`OneOf`].
//!
//! A type-erased owner for each variant would be called through a function pointer, which cannot
//! be inlined: an export of an enum of buffers then takes 25 ns, and 20 with
//! this type (and 19 without an enum). It is not a clone of the enum itself, whose `Drop`
//! would run once more.

use alloc::sync::Arc;

use super::{Option, SharedOwner, Storage};
use crate::element::{AnyBits, Element};
use crate::import::{ImportedElement, ImportedStorage};
use crate::storage::{DataMut, DataRef, SharedBuffer};

/// The owner in one of several variants: [`first`], or [`rest`] of a list of variants.
#[derive(Debug)]
pub enum OneOf<A, Rest> {
    First(A),
    Rest(Rest),
}

/// The end of the list of variants, and the owner of a storage that is not a
/// [`SharedHandle`].
#[derive(Debug)]
pub enum Never {}

/// The owner in the first variant.
#[inline(always)]
pub const fn first<A, Rest>(owner: A) -> OneOf<A, Rest> {
    OneOf::First(owner)
}

/// The owner in one of the other variants.
#[inline(always)]
pub const fn rest<A, Rest>(owner: Rest) -> OneOf<A, Rest> {
    OneOf::Rest(owner)
}

/// The owner in the last variant.
#[inline(always)]
pub const fn last<A>(owner: A) -> OneOf<A, Never> {
    OneOf::First(owner)
}

/// Erases the type of the owner in a variant. If the type of all owners does not fit in a
/// [`SharedOwner`], that of this owner is erased: it fits alone, and a box for all of them
/// would be a second allocation.
#[inline(always)]
pub fn share_one_of<A, Rest>(owner: OneOf<A, Rest>) -> Option<SharedOwner>
where
    OneOf<A, Rest>: Storage + Send + 'static,
{
    if const { SharedOwner::fits::<OneOf<A, Rest>>() } {
        SharedOwner::new(owner)
    } else {
        owner.share()
    }
}

impl<A: Storage, Rest: Storage> Storage for OneOf<A, Rest> {
    #[inline(always)]
    fn data(&self) -> DataRef<'_> {
        match self {
            Self::First(owner) => owner.data(),
            Self::Rest(owners) => owners.data(),
        }
    }

    #[inline(always)]
    fn data_mut(&mut self) -> DataMut<'_> {
        match self {
            Self::First(owner) => owner.data_mut(),
            Self::Rest(owners) => owners.data_mut(),
        }
    }

    #[inline(always)]
    fn share(&self) -> Option<SharedOwner> {
        match self {
            Self::First(owner) => owner.share(),
            Self::Rest(owners) => owners.share(),
        }
    }
}

impl Storage for Never {
    #[inline(always)]
    fn data(&self) -> DataRef<'_> {
        match *self {}
    }
}

/// A storage whose clone is another owner of the same memory.
pub trait SharedHandle: Storage + Clone + Send + 'static {}

/// Not for every `Arc`: method resolution does not compare lifetimes, so it would select this
/// trait for an `Arc` of a type that may not be `'static`, and the borrow checker would then
/// reject the enum.
impl<T: Element> SharedHandle for Arc<[T]> {}

impl<T: AnyBits> SharedHandle for SharedBuffer<T> {}

impl<T: ImportedElement> SharedHandle for ImportedStorage<T> {}

/// The storage in a variant.
///
/// Method resolution selects the trait below: it tries the receivers `Sharer` and `&Sharer` in
/// this order, and takes the first one whose bounds hold.
#[derive(Debug)]
pub struct Sharer<'a, S: ?Sized>(&'a S);

/// Names the storage.
#[inline(always)]
pub const fn sharer<S: ?Sized>(storage: &S) -> Sharer<'_, S> {
    Sharer(storage)
}

/// The choices, for a glob import, which is used if one of them is.
pub mod sharing {
    pub use super::{ByHandle as _, ByStorage as _};
}

/// The first choice: a `SharedHandle`.
pub trait ByHandle<S> {
    /// Returns another owner.
    fn __dlpack_share(self) -> Option<S>;
}

impl<S: SharedHandle> ByHandle<S> for Sharer<'_, S> {
    #[inline(always)]
    fn __dlpack_share(self) -> Option<S> {
        Some(self.0.clone())
    }
}

/// The other choice: the expansion calls [`Storage::share`].
pub trait ByStorage {
    /// Returns no owner.
    fn __dlpack_share(self) -> Option<Never>;
}

impl<S: ?Sized> ByStorage for &Sharer<'_, S> {
    #[inline(always)]
    fn __dlpack_share(self) -> Option<Never> {
        None
    }
}
