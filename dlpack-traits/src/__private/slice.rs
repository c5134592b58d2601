//! Owners of other crates that lend a slice: `data` fields with `slice = TYPE`.
//!
//! No storage is implemented for the type of such a field, so the type can be another
//! crate's. The expansion borrows the slice with safe code, from the owner in its final
//! place, and passes it to [`DataRef::from_slice`], as an implementation of [`Storage`] does.

use core::marker::PhantomData;
use core::ops::Deref;

use super::{Describe, Description, Error, Layout, Option, Result, SharedOwner, Storage};
use crate::element::Element;
use crate::storage::DataRef;

/// An owner, and the type of the elements whose slice it lends.
///
/// Method resolution selects the trait below: it tries the receivers `Lender`, `&Lender` and
/// `&mut Lender` in this order, and takes the first one whose bounds hold.
#[derive(Debug)]
pub struct Lender<'a, O: ?Sized, T> {
    owner: &'a O,
    elements: PhantomData<fn() -> T>,
}

/// Names the owner.
#[inline(always)]
pub const fn lender<O: ?Sized, T>(owner: &O) -> Lender<'_, O, T> {
    Lender { owner, elements: PhantomData }
}

/// The choices, for a glob import, which is used if one of them is.
pub mod lending {
    pub use super::{ByAsRef as _, ByDeref as _, ByNothing as _};
}

/// The first choice: `AsRef<[T]>`.
pub trait ByAsRef<'a, T> {
    /// Borrows the slice.
    fn __dlpack_slice(self) -> &'a [T];
}

impl<'a, O: AsRef<[T]> + ?Sized, T> ByAsRef<'a, T> for Lender<'a, O, T> {
    #[inline(always)]
    fn __dlpack_slice(self) -> &'a [T] {
        self.owner.as_ref()
    }
}

/// The second choice: `Deref`, to a `[T]` or to an owner that is `AsRef<[T]>`.
pub trait ByDeref<'a, T> {
    /// Borrows the slice.
    fn __dlpack_slice(self) -> &'a [T];
}

impl<'a, O: Deref<Target: AsRef<[T]>> + ?Sized, T> ByDeref<'a, T> for &Lender<'a, O, T> {
    #[inline(always)]
    fn __dlpack_slice(self) -> &'a [T] {
        (**self.owner).as_ref()
    }
}

/// An owner that lends a slice, required of all others, for the error message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lend a slice of `{T}`",
    label = "neither `AsRef<[{T}]>` nor `Deref<Target = [{T}]>`",
    note = "`slice` says the type of the elements: write the type of which `{Self}` lends a slice",
    note = "a function or method that borrows the slice is `slice = {T}, with = path`, such as `with = Image::as_bytes`",
    note = "in a generic struct, state what the type needs: `#[dlpack(bound(S: AsRef<[{T}]>))]` with its type parameter"
)]
pub trait LendsSlice<T> {
    /// Borrows the slice.
    fn slice(&self) -> &[T];
}

#[diagnostic::do_not_recommend]
impl<O: AsRef<[T]> + ?Sized, T> LendsSlice<T> for O {
    #[inline(always)]
    fn slice(&self) -> &[T] {
        self.as_ref()
    }
}

/// The last choice, whose bound is an error.
pub trait ByNothing<'a, O: ?Sized, T> {
    /// Borrows the slice.
    fn __dlpack_slice(self) -> &'a [T]
    where
        O: LendsSlice<T>;
}

impl<'a, O: ?Sized, T> ByNothing<'a, O, T> for &mut Lender<'a, O, T> {
    #[inline(always)]
    fn __dlpack_slice(self) -> &'a [T]
    where
        O: LendsSlice<T>,
    {
        self.owner.slice()
    }
}

/// [`DLPackExport::describe`](super::DLPackExport::describe) for a slice.
#[inline(always)]
pub fn slice<'a, T: Element>(
    out: Describe<'a>,
    layout: Layout<'a>,
    slice: &'a [T],
) -> Result<Description<'a>, Error> {
    out.layout(layout).data(DataRef::from_slice(slice))
}

/// An owner with the attribute `shared`.
#[diagnostic::on_unimplemented(
    message = "a clone of `{Self}` cannot own the data of an exported tensor",
    label = "must be `Clone + Send + 'static`",
    note = "`shared` says that a clone owns the same memory, as that of an `Arc` does; remove it if `{Self}` has a single owner"
)]
pub trait SharedByClone: Sized + Send + 'static {
    /// Clones the owner.
    #[must_use]
    fn another(&self) -> Self;
}

#[diagnostic::do_not_recommend]
impl<O: Clone + Send + 'static> SharedByClone for O {
    #[inline]
    fn another(&self) -> O {
        self.clone()
    }
}

/// [`DLPackExport::share`](super::DLPackExport::share) for an owner with the attribute
/// `shared`. The export checks, as for every `share`, that the elements of the tensor are inside
/// of the slice that the clone returns.
#[inline]
pub fn share_slice<O, T, F>(owner: &O, slice: F) -> Option<SharedOwner>
where
    O: SharedByClone,
    T: Element,
    F: for<'x> Fn(&'x O) -> &'x [T] + Send + 'static,
{
    SharedOwner::new(SharedSlice { owner: owner.another(), slice, elements: PhantomData })
}

/// A clone of an owner.
struct SharedSlice<O, T, F> {
    owner: O,
    slice: F,
    elements: PhantomData<fn() -> T>,
}

impl<O, T: Element, F: for<'x> Fn(&'x O) -> &'x [T]> Storage for SharedSlice<O, T, F> {
    #[inline]
    fn data(&self) -> DataRef<'_> {
        DataRef::from_slice((self.slice)(&self.owner))
    }
}
