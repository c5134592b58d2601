//! Rejects objects whose elements are not the values in their memory: [`check`].
//!
//! PyTorch evaluates `x.conj()` and `x.conj().imag` lazily: the result shares the memory of `x`
//! and has a bit, after which each element is the conjugate, or the negative, of what is in
//! memory. Its exchange table drops both bits, and its `__dlpack__` the negative bit.
//!
//! Layout and dtype do not tell whether a bit is set: a slice of such a view can be contiguous, and
//! `torch._neg_view` takes integers. PyTorch's `is_neg`, which releases the GIL, takes 100 to 200 ns,
//! as long as an import. It is called for objects of types that have `is_neg` and `resolve_neg`
//! (`lookup::has_lazy_bits`).

use alloc::format;

use pyo3::exceptions::{PyBufferError, PyException};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

use crate::dtype::DataType;
use crate::ffi;
use crate::python::convert::{discard, ok_or_discard};

/// Checks that no such bit is set for an object of a type that may have them. `dtype` is that of
/// its tensor, if it is known.
///
/// # Errors
///
/// `BufferError` for an object with such a bit.
#[inline(never)]
pub(in crate::python) fn check(object: &Bound<'_, PyAny>, dtype: Option<DataType>) -> PyResult<()> {
    let py = object.py();
    // PyTorch has no negative bit for `bool`.
    if dtype.is_some_and(|dtype| dtype.code() == ffi::kDLBool) {
        return Ok(());
    }
    let is_negated = is_set(object, intern!(py, "is_neg"))?;
    let is_conjugated =
        dtype.is_none_or(DataType::is_complex) && is_set(object, intern!(py, "is_conj"))?;
    if is_negated || is_conjugated {
        return Err(unresolved(is_negated, is_conjugated));
    }
    Ok(())
}

#[inline]
fn is_set(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    let py = object.py();
    match object.call_method0(name) {
        Err(error) if error.is_instance_of::<PyException>(py) => is_set_below(object, name, error),
        set => Ok(set?.is(PyBool::new(py, true))),
    }
}

/// Calls the method of PyTorch without `__torch_function__`, by which a subclass may raise for
/// every function but `__dlpack__`, as `ReadOnlyTensorWrapper` does.
#[cold]
fn is_set_below(
    object: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    error: PyErr,
) -> PyResult<bool> {
    let py = object.py();
    let call = || -> PyResult<bool> {
        let torch = py.import(intern!(py, "torch._C"))?;
        let method = torch.getattr(intern!(py, "TensorBase"))?.getattr(name)?;
        let call = torch.getattr(intern!(py, "_disabled_torch_function_impl"))?;
        Ok(call.call1((method, (), (object,)))?.is(PyBool::new(py, true)))
    };
    match ok_or_discard(py, call()) {
        Some(set) => {
            discard(py, error);
            Ok(set)
        }
        None => Err(error),
    }
}

#[cold]
fn unresolved(is_negated: bool, is_conjugated: bool) -> PyErr {
    let (bits, cure) = match (is_negated, is_conjugated) {
        (true, false) => ("negative bit", ".resolve_neg()"),
        (false, _) => ("conjugate bit", ".resolve_conj()"),
        (true, true) => ("negative and the conjugate bit", ".resolve_conj().resolve_neg()"),
    };
    PyBufferError::new_err(format!(
        "expected a tensor whose elements are in its memory, got one with the {bits}, which DLPack \
         cannot express; pass `x{cure}`, a copy (PyTorch)"
    ))
}
