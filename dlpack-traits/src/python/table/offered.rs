//! Passes tensors to the `from_dlpack` of a library, and checks what it makes: [`offer_to`].

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;

use crate::dtype::DataType;
use crate::export::DLPackExport;
use crate::import::ImportedStorage;
use crate::managed::ManagedTensor;
use crate::python::convert::{exchange_error, ok_unless_exit};
use crate::python::export::offer::{offer, storage_of};
use crate::python::interpreter::{LONG_COPY, copying};

/// Passes a tensor to a `from_dlpack`, [without negative strides](without_negative_strides).
///
/// # Errors
///
/// What it raises; `TypeError` if the object that it makes has another dtype or shape: JAX makes
/// 32-bit elements of 64-bit ones by default, MLX always.
pub(in crate::python) fn offer_to<'py>(
    from_dlpack: &Bound<'py, PyAny>,
    tensor: ManagedTensor,
) -> PyResult<Bound<'py, PyAny>> {
    let py = from_dlpack.py();
    let tensor = storage_of(without_negative_strides(py, tensor)?)?;
    let sent = Sent::of(&tensor)?;
    let made = from_dlpack.call1((offer(py, tensor)?,))?;
    sent.check(&made)?;
    Ok(made)
}

/// The dtype and the shape of a tensor that a library gets.
#[derive(Debug)]
pub(in crate::python) struct Sent {
    dtype: DataType,
    shape: Vec<i64>,
}

impl Sent {
    pub(in crate::python) fn of(tensor: &impl DLPackExport) -> PyResult<Self> {
        let view = tensor.tensor().map_err(exchange_error)?;
        Ok(Self { dtype: view.dtype(), shape: view.shape().to_vec() })
    }

    /// Compares them with the attributes `dtype` and `shape` of the object that the library made, if
    /// it has them.
    ///
    /// # Errors
    ///
    /// `TypeError` if they differ.
    pub(in crate::python) fn check(&self, made: &Bound<'_, PyAny>) -> PyResult<()> {
        check_dtype(made, self.dtype)?;
        let shape = &self.shape;
        let read = || made.getattr(intern!(made.py(), "shape"))?.extract::<Vec<i64>>();
        match ok_unless_exit(made.py(), read())? {
            Some(found) if &found != shape => Err(PyTypeError::new_err(format!(
                "expected a result of shape {shape:?}, got one of {found:?} from its library"
            ))),
            _ => Ok(()),
        }
    }
}

fn check_dtype(made: &Bound<'_, PyAny>, dtype: DataType) -> PyResult<()> {
    let py = made.py();
    let read = || -> PyResult<String> {
        Ok(made.getattr(intern!(py, "dtype"))?.str()?.to_string_lossy().into_owned())
    };
    let found = ok_unless_exit(py, read())?;
    // `int32`, `torch.int32`, `<dtype: 'int32'>`.
    let is_part_of_name = |part: char| part.is_ascii_alphanumeric() || part == '_';
    let found = found
        .as_deref()
        .and_then(|text| text.rsplit(|part| !is_part_of_name(part)).find(|name| !name.is_empty()));
    if let Some(other) = found.and_then(DataType::from_name).filter(|&found| found != dtype) {
        let cure = if is_of_module(made, "jax")? {
            ", or call `jax.config.update('jax_enable_x64', True)`"
        } else {
            ""
        };
        return Err(PyTypeError::new_err(format!(
            "expected a result of {dtype}, got one of {other} from its library, which changes \
             values; return {other}{cure}"
        )));
    }
    Ok(())
}

/// Whether the class of an object is defined in a package whose name begins like this.
fn is_of_module(made: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    let py = made.py();
    let module = made.get_type().getattr(intern!(py, "__module__"));
    Ok(ok_unless_exit(py, module)?.is_some_and(|module| module.to_string().starts_with(name)))
}

/// Copies a host tensor with negative strides, which few libraries have: Paddle reads other memory
/// for them, JAX and MLX reject them, and so does PyTorch, 2.12 by ending the process. Other threads
/// run during a long copy.
///
/// # Errors
///
/// `MemoryError`.
pub(in crate::python) fn without_negative_strides(
    py: Python<'_>,
    tensor: ManagedTensor,
) -> PyResult<ManagedTensor> {
    let is_reversed = tensor.strides().iter().any(|&stride| stride < 0);
    if !is_reversed || !tensor.device().is_host() {
        return Ok(tensor);
    }
    let tensor = tensor.import().map_err(exchange_error)?;
    copying(py, tensor.numel() >= LONG_COPY, || tensor.to_own_copy())
        .and_then(ImportedStorage::new)
        .and_then(|copy: ImportedStorage| copy.into_dlpack())
        .map_err(exchange_error)
}
