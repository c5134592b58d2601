//! The shape of an imported tensor in numbers of Rust, in fields that store it or the strides
//! ([`FromDims`]), and compared with that of another tensor.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::type_name;

use super::{ImportError, ImportedTensor, MetadataField, MismatchKind};
use crate::dims::Dim;

impl ImportedTensor {
    /// The size of each dimension as a `usize`, for fields, indices and allocations.
    ///
    /// A dimension beyond the address space, which only an empty tensor can have, is `usize::MAX`.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, OwnedTensor};
    ///
    /// let tensor = OwnedTensor::new(vec![0.0_f32; 6], &[2, 3])?.into_dlpack()?.import()?;
    /// let shape: Vec<usize> = tensor.shape_usize().collect();
    /// assert_eq!(shape, [2, 3]);
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    #[inline]
    pub fn shape_usize(
        &self,
    ) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + Clone {
        self.shape().iter().map(|&dim| usize::try_from(dim).unwrap_or(usize::MAX))
    }

    /// Checks that two tensors, such as two arguments that are read together, have the same shape.
    /// Nothing is broadcast.
    ///
    /// ```
    /// use dlpack_traits::{DLPackExport, ImportError, ImportedTensor, OwnedTensor};
    ///
    /// fn dot(x: &ImportedTensor, y: &ImportedTensor) -> Result<f32, ImportError> {
    ///     x.same_shape(y)?;
    ///     let (x, y) = (x.elements::<f32>()?, y.elements::<f32>()?);
    ///     Ok(x.iter().zip(y.iter()).map(|(x, y)| x * y).sum())
    /// }
    ///
    /// let ones = |shape| OwnedTensor::new(vec![1.0_f32; 6], shape)?.into_dlpack()?.import();
    /// assert_eq!(dot(&ones(&[2, 3])?, &ones(&[2, 3])?), Ok(6.0));
    /// let error = dot(&ones(&[2, 3])?, &ones(&[3, 2])?).unwrap_err();
    /// assert_eq!(error.to_string(), "expected two tensors of one shape, got [2, 3] and [3, 2]");
    /// # Ok::<(), dlpack_traits::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ImportError::Rejected`], in Python a `ValueError`, with both shapes.
    pub fn same_shape(&self, other: &Self) -> Result<(), ImportError> {
        let (this, other) = (self.shape(), other.shape());
        if this == other {
            return Ok(());
        }
        Err(ImportError::rejected(format_args!(
            "expected two tensors of one shape, got {this:?} and {other:?}"
        )))
    }
}

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
