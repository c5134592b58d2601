//! Fields that store the shape or the strides of an imported tensor: [`FromDims`].

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::type_name;

use super::{MetadataField, MismatchKind};
use crate::dims::Dim;

/// A field that can store the `shape` or the `strides` of an imported tensor. It is the
/// counterpart of [`AsDims`](crate::AsDims), which is for exports.
///
/// ```
/// use dlpack_traits::{FromDims, MismatchKind};
///
/// assert_eq!(<[u32; 2]>::from_dims(&[2, 3]), Ok([2, 3]));
/// assert!(matches!(Vec::<u8>::from_dims(&[2, 300]), Err(MismatchKind::Fit { found: 300, .. })));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot hold the `shape` or `strides` of an imported tensor",
    label = "not a list of integers that can be filled",
    note = "use an array, `Vec`, `Box` or `Arc` of integers, such as `[usize; 3]` or `Vec<i64>`, or implement `dlpack_traits::FromDims`"
)]
pub trait FromDims: Sized {
    /// The maximum number of entries, if the type fixes it.
    const CAPACITY: Option<usize> = None;

    /// Stores these numbers, of which there are at most [`CAPACITY`](Self::CAPACITY). The
    /// remaining entries are filled with zeros.
    ///
    /// # Errors
    ///
    /// [`MismatchKind::Fit`] for the first number that does not fit, with any [`MetadataField`].
    fn from_dims(dims: &[i64]) -> Result<Self, MismatchKind>;
}

impl<I: Dim, const N: usize> FromDims for [I; N] {
    const CAPACITY: Option<usize> = Some(N);

    fn from_dims(dims: &[i64]) -> Result<Self, MismatchKind> {
        if dims.len() > N {
            return Err(MismatchKind::Room { most: N, found: dims.len() });
        }
        let mut wrong = None;
        let filled = core::array::from_fn(|axis| {
            let dim = dims.get(axis).copied().unwrap_or(0);
            I::from_i64(dim).unwrap_or_else(|| {
                wrong = Some((axis, dim));
                // Every integer type has a zero.
                I::ZERO
            })
        });
        match wrong {
            None => Ok(filled),
            Some((axis, dim)) => Err(no_fit::<I>(dim, MetadataField::Dimension(axis))),
        }
    }
}

impl<I: Dim> FromDims for Vec<I> {
    fn from_dims(dims: &[i64]) -> Result<Self, MismatchKind> {
        let numbered = dims.iter().enumerate();
        numbered.map(|(axis, &dim)| number(dim, MetadataField::Dimension(axis))).collect()
    }
}

impl<I: Dim> FromDims for Box<[I]> {
    fn from_dims(dims: &[i64]) -> Result<Self, MismatchKind> {
        Vec::from_dims(dims).map(Vec::into_boxed_slice)
    }
}

impl<I: Dim> FromDims for Arc<[I]> {
    fn from_dims(dims: &[i64]) -> Result<Self, MismatchKind> {
        Vec::from_dims(dims).map(Vec::into)
    }
}

impl<D: FromDims> FromDims for Box<D> {
    const CAPACITY: Option<usize> = D::CAPACITY;

    fn from_dims(dims: &[i64]) -> Result<Self, MismatchKind> {
        D::from_dims(dims).map(Box::new)
    }
}

impl<D: FromDims> FromDims for Arc<D> {
    const CAPACITY: Option<usize> = D::CAPACITY;

    fn from_dims(dims: &[i64]) -> Result<Self, MismatchKind> {
        D::from_dims(dims).map(Arc::new)
    }
}

/// Converts a number to the type of its field.
pub(crate) fn number<I: Dim>(found: i64, number: MetadataField) -> Result<I, MismatchKind> {
    I::from_i64(found).ok_or_else(|| no_fit::<I>(found, number))
}

#[cold]
fn no_fit<I>(found: i64, number: MetadataField) -> MismatchKind {
    MismatchKind::Fit { number, found, int: type_name::<I>() }
}
