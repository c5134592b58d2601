//! A vector of elements with a shape: [`OwnedTensor`].

use alloc::vec::Vec;

use crate::describe::{Describe, Description, DescriptionMut};
use crate::dims::{AsDims, Dims};
use crate::element::Element;
use crate::error::Error;
use crate::export::DLPackExport;
use crate::storage::Storage;
use crate::strides;

/// A vector of elements with a shape, in row-major order: the result of a function, without
/// a struct of its own.
///
/// ```
/// use dlpack_traits::{DLPackExport, OwnedTensor};
///
/// let matrix = OwnedTensor::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// assert_eq!(matrix.into_dlpack()?.shape(), [2, 3]);
/// assert!(OwnedTensor::new(vec![1.0, 2.0], &[3]).is_err());
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// The vector has a single owner: export it by [`into_dlpack`](DLPackExport::into_dlpack).
/// [`to_dlpack`](DLPackExport::to_dlpack) fails with [`Error::NotShareable`].
///
/// With the feature `pyo3`, a `#[pyfunction]` can return it: it becomes a NumPy array,
/// zero-copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedTensor<T> {
    values: Vec<T>,
    shape: Shape,
}

/// The shape of an [`OwnedTensor`]. A single dimension, that of most results, needs no
/// allocation (20 ns of 340 in a function that returns four numbers to Python).
#[derive(Clone, Debug, PartialEq, Eq)]
enum Shape {
    One([i64; 1]),
    /// Another number of dimensions.
    Any(Vec<i64>),
}

impl Shape {
    fn as_slice(&self) -> &[i64] {
        match self {
            Self::One(shape) => shape,
            Self::Any(shape) => shape,
        }
    }
}

impl<T: Element> OwnedTensor<T> {
    /// Creates a tensor of this shape from a vector.
    ///
    /// # Errors
    ///
    /// [`Error::LenMismatch`] unless the shape has exactly as many elements as the vector;
    /// those of [`Dims::of`]; [`Error::NegativeDim`] and [`Error::SizeOverflow`].
    pub fn new<D: AsDims + ?Sized>(values: Vec<T>, shape: &D) -> Result<Self, Error> {
        let shape = Dims::of(shape)?;
        let shape = shape.as_slice();
        let needed = usize::try_from(strides::numel(shape)?).map_err(|_| Error::SizeOverflow)?;
        let found = values.len();
        if needed != found {
            return Err(Error::LenMismatch { needed, found });
        }
        let shape = match shape {
            &[dim] => Shape::One([dim]),
            shape => Shape::Any(Vec::from(shape)),
        };
        Ok(Self { values, shape })
    }

    /// Creates a tensor with one dimension from a vector.
    pub fn from_vec(values: Vec<T>) -> Self {
        // A vector has at most `isize::MAX` bytes, and an element at least one byte.
        let len = i64::try_from(values.len()).unwrap_or(i64::MAX);
        Self { values, shape: Shape::One([len]) }
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &[i64] {
        self.shape.as_slice()
    }

    /// The elements, in row-major order.
    pub fn as_slice(&self) -> &[T] {
        &self.values
    }

    /// The elements, in row-major order, for writing.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// Returns the vector.
    pub fn into_vec(self) -> Vec<T> {
        self.values
    }
}

impl<T: Element> DLPackExport for OwnedTensor<T> {
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(self.shape.as_slice()).data(self.values.data())
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        out.shape(self.shape.as_slice()).data_mut(self.values.data_mut())
    }
}
