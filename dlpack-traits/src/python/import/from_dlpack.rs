//! Imports the tensors of Python objects: [`from_dlpack`].

use pyo3::prelude::*;

use crate::import::ImportedTensor;
use crate::python::import::import_object::import_object;
use crate::python::import::import_options::ImportOptions;
use crate::python::import::missing_protocol::explained;

/// Imports the tensor of a Python object, zero-copy.
///
/// The object may export tensors by the exchange table of its type or by `__dlpack__`. It
/// may also be a DLPack capsule. An array of NumPy is read by NumPy's C API, with the same
/// result as by its `__dlpack__`; subclasses of `numpy.ndarray` are not.
///
/// ```no_run
/// use dlpack_traits::python;
/// use pyo3::prelude::*;
///
/// /// The sum of any tensor of `float32`s on the CPU.
/// # #[allow(dead_code)]
/// fn sum(object: &Bound<'_, PyAny>) -> PyResult<f32> {
///     let tensor = python::from_dlpack(object)?;
///     Ok(tensor.elements::<f32>()?.iter().sum())
/// }
/// ```
///
/// It can also convert an argument of a `#[pyfunction]`, which then receives the tensor:
///
/// ```ignore,no_run,standalone_crate
/// use dlpack_traits::{ImportedTensor, python};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn sum(#[pyo3(from_py_with = python::from_dlpack)] tensor: ImportedTensor) -> PyResult<f32> {
///     Ok(tensor.elements::<f32>()?.iter().sum())
/// }
/// ```
///
/// PyTorch's exchange table also exports tensors that require a gradient, which its
/// `__dlpack__` rejects. Autograd does not record what Rust does with them: reading one is
/// like reading `x.detach()`. [`PyTensorMut`](crate::python::PyTensorMut) rejects them. A tensor of
/// PyTorch whose elements are not in its memory (`x.conj()`, `x.conj().imag`) is a `BufferError`
/// that names `x.resolve_conj()` or `x.resolve_neg()`.
///
/// # Errors
///
/// What the object raises. If nothing is requested and a cure is known, that is the cause of a
/// `BufferError` with the cure: for an array of NumPy in another byte order, `.astype('float32')`. `AttributeError` if it is not a tensor, with a message that
/// suggests what to pass (for a list, `numpy.asarray(x)`). `BufferError` for a tensor that violates the
/// standard.
/// `ValueError` for a capsule that contains no tensor, or whose tensor was already
/// consumed.
#[inline]
pub fn from_dlpack(object: &Bound<'_, PyAny>) -> PyResult<ImportedTensor> {
    from_dlpack_with(object, &ImportOptions::new())
}

/// Imports the tensor of a Python object, as [`from_dlpack`] does, with options.
///
/// # Errors
///
/// Those of [`from_dlpack`]; and `BufferError` if the tensor is not on the requested
/// device, or not on the device that `__dlpack_device__` returned.
#[inline(always)]
pub fn from_dlpack_with(
    object: &Bound<'_, PyAny>,
    options: &ImportOptions<'_>,
) -> PyResult<ImportedTensor> {
    import_object(object, options).map_err(|error| explained(object, options, error))
}
