//! Arrays as function arguments, for writing: [`PyTensorMut`].

use pyo3::prelude::*;

use super::checks::{self, ANY_RANK};
use super::tensor::{Access, PyTensor};
use crate::element::Readable;
use crate::error::Error;
use crate::import::{AnyElement, ElementsMut, ImportedElement, ImportedTensor, IsStored};
use crate::python::import::advice::KEEP_CONVERTED;

/// An array argument whose elements the function changes in place. Otherwise it is like
/// [`PyTensor`].
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::python::PyTensorMut;
/// use pyo3::prelude::*;
///
/// /// Multiplies each element.
/// #[pyfunction]
/// fn scale(mut array: PyTensorMut<'_, f32>, factor: f32) {
///     array.elements_mut().map_in_place(|value| value * factor);
/// }
/// ```
///
/// # Errors
///
/// Those of [`PyTensor`]; `TypeError` for a masked array, whose masked elements
/// the function would change too; and `ValueError` if the array is read-only, if
/// its elements share memory (as those of a broadcast array do), if it requires a gradient
/// (autograd does not record the changes: pass `x.detach()`), and for a capsule of DLPack
/// before 1.0, which does not state whether its memory may be written. JAX exports its
/// immutable arrays by such capsules.
///
/// The export of the producer states whether the memory may be written, and is trusted.
/// PyTorch exports all of its tensors as writable, also one that was made from read-only
/// memory.
pub type PyTensorMut<'py, T = AnyElement, const N: usize = ANY_RANK> = PyTensor<'py, T, N, Write>;

/// The function changes the elements.
#[derive(Debug)]
pub struct Write(());

impl Access for Write {
    type Tensor = ImportedTensor;

    const NAME: &'static str = "PyTensorMut";
    const NOTE: &'static str = KEEP_CONVERTED;

    #[inline]
    fn import<T: ImportedElement>(
        object: &Bound<'_, PyAny>,
        rank: usize,
    ) -> PyResult<ImportedTensor> {
        let () = IsStored::<T>::OK;
        let tensor = checks::import_mut::<T>(object)?;
        checks::check_mut::<T>(object, &tensor, rank)?;
        Ok(tensor)
    }

    fn imported(tensor: &ImportedTensor) -> &ImportedTensor {
        tensor
    }
}

impl<T: Readable, const N: usize> PyTensorMut<'_, T, N> {
    /// The elements, read and written by value. Other owners may read and write them
    /// meanwhile.
    #[inline]
    pub fn elements_mut(&mut self) -> ElementsMut<'_, T> {
        match self.tensor.elements_mut() {
            Ok(elements) => elements,
            Err(_) => unreachable!("the argument was checked"),
        }
    }
}

impl<const N: usize> PyTensorMut<'_, AnyElement, N> {
    /// The elements as `U`, read and written by value: [`ImportedTensor::elements_mut`].
    ///
    /// # Errors
    ///
    /// [`Error::ElementMismatch`](crate::Error::ElementMismatch) for elements of another
    /// type, and the other errors of [`ImportedTensor::elements_mut`].
    #[inline]
    pub fn elements_mut<U: Readable>(&mut self) -> Result<ElementsMut<'_, U>, Error> {
        self.tensor.elements_mut()
    }
}
