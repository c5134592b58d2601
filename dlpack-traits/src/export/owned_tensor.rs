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
/// With the feature `pyo3`, a `#[pyfunction]` can return it: it becomes a NumPy array,
/// zero-copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnedTensor<T> {
    values: Vec<T>,
    shape: Vec<i64>,
}

impl<T: Element> OwnedTensor<T> {
    /// Gives a vector a shape.
    ///
    /// # Errors
    ///
    /// [`Error::LenMismatch`] unless the shape has exactly as many elements as the vector;
    /// those of [`Dims::of`]; [`Error::NegativeDim`] and [`Error::SizeOverflow`].
    pub fn new<D: AsDims + ?Sized>(values: Vec<T>, shape: &D) -> Result<Self, Error> {
        let shape = Vec::from(Dims::of(shape)?.as_slice());
        let needed = usize::try_from(strides::numel(&shape)?).map_err(|_| Error::SizeOverflow)?;
        let found = values.len();
        if needed != found {
            return Err(Error::LenMismatch { needed, found });
        }
        Ok(Self { values, shape })
    }

    /// Gives a vector the shape with one dimension.
    pub fn from_vec(values: Vec<T>) -> Self {
        // A vector has at most `isize::MAX` bytes, and an element at least one byte.
        let len = i64::try_from(values.len()).unwrap_or(i64::MAX);
        Self { values, shape: Vec::from([len]) }
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &[i64] {
        &self.shape
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
        out.shape(&self.shape).data(self.values.data())
    }

    fn describe_mut<'a>(&'a mut self, out: Describe<'a>) -> Result<DescriptionMut<'a>, Error> {
        out.shape(&self.shape).data_mut(self.values.data_mut())
    }
}
