//! Elements with a shape and several owners: [`SharedTensor`].

use crate::describe::{Describe, Description};
use crate::element::AnyBits;
use crate::error::Error;
use crate::export::DLPackExport;
use crate::storage::{SharedBuffer, Storage};

/// Elements with a shape, in row-major order, that several owners read and write: the field of a
/// class that Python reads and changes.
///
/// ```
/// use dlpack_traits::{DLPackExport, SharedTensor};
///
/// let vertices = SharedTensor::new(vec![0.0_f32; 6], [2, 3])?;
/// let lent = vertices.to_dlpack()?; // the same memory
/// vertices.buffer().store(0, 1.0);
/// assert_eq!(lent.import()?.elements::<f32>()?.to_vec()?[0], 1.0);
/// # Ok::<(), dlpack_traits::Error>(())
/// ```
///
/// A clone is another owner of the same memory, with one reference count. With the feature `pyo3`,
/// `#[pyo3(get)]` returns a NumPy array over it, so a change of `mesh.vertices[0]` in Python is a
/// change of the field:
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::SharedTensor;
/// use pyo3::prelude::*;
///
/// #[pyclass(frozen)]
/// struct Mesh {
///     #[pyo3(get)]
///     vertices: SharedTensor<f32, 2>,
///     #[pyo3(get)]
///     faces: SharedTensor<u32, 2>,
/// }
/// ```
///
/// [`SharedBuffer`] has the rules for threads that access an element at the same time. A field
/// that Python must not write is an `Arc<[T]>` in a struct that derives
/// [`DLPackExport`].
#[derive(Clone, Debug)]
pub struct SharedTensor<T, const N: usize> {
    buffer: SharedBuffer<T>,
    shape: [usize; N],
}

impl<T: AnyBits, const N: usize> SharedTensor<T, N> {
    /// Creates a tensor of this shape from a vector, a boxed slice or a [`SharedBuffer`], whose
    /// memory it keeps.
    ///
    /// # Errors
    ///
    /// [`Error::LenMismatch`] unless the shape has exactly as many elements as the buffer;
    /// [`Error::SizeOverflow`].
    pub fn new(elements: impl Into<SharedBuffer<T>>, shape: [usize; N]) -> Result<Self, Error> {
        let (buffer, needed) = (elements.into(), numel(shape)?);
        let found = buffer.len();
        if needed == found {
            Ok(Self { buffer, shape })
        } else {
            Err(Error::LenMismatch { needed, found })
        }
    }

    /// Creates a tensor whose elements are zero, in memory that is aligned to 64 bytes.
    ///
    /// # Errors
    ///
    /// [`Error::SizeOverflow`], [`Error::OutOfMemory`].
    pub fn zeroed(shape: [usize; N]) -> Result<Self, Error> {
        Ok(Self { buffer: SharedBuffer::zeroed(numel(shape)?)?, shape })
    }

    /// The size of each dimension.
    pub const fn shape(&self) -> [usize; N] {
        self.shape
    }

    /// The elements, in row-major order.
    pub const fn buffer(&self) -> &SharedBuffer<T> {
        &self.buffer
    }
}

/// The number of elements of a shape.
fn numel<const N: usize>(shape: [usize; N]) -> Result<usize, Error> {
    let mut dims = shape.iter();
    dims.try_fold(1_usize, |numel, &dim| numel.checked_mul(dim)).ok_or(Error::SizeOverflow)
}

impl<T: AnyBits, const N: usize> DLPackExport for SharedTensor<T, N> {
    #[inline(always)]
    fn describe<'a>(&'a self, out: Describe<'a>) -> Result<Description<'a>, Error> {
        out.shape(&self.shape).data(self.buffer.data())
    }

    #[inline(always)]
    fn storage(&self) -> Option<&dyn Storage> {
        Some(&self.buffer)
    }
}
