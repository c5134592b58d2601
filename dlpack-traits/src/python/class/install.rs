//! Adds a class of tensors to a module: [`add_class`], [`install`].

use pyo3::prelude::*;

use crate::python::class::builder;
use crate::python::export::export_class::ExportClass;

/// Adds a class to a module, and makes its objects export tensors: [`install`], then
/// PyO3's own `add_class`.
///
/// # Errors
///
/// Those of [`install`], and of adding to the module.
pub fn add_class<T: ExportClass>(module: &Bound<'_, PyModule>) -> PyResult<()> {
    builder::class::<T>().add(module)
}

/// Makes the objects of a class export tensors: adds `__dlpack__`, `__dlpack_device__`
/// and the C exchange table to it. For classes that a declarative `#[pymodule]` adds
/// itself, call this in its `#[pymodule_init]`.
///
/// # Errors
///
/// `TypeError` for classes declared `unsendable` (their objects are bound to a thread,
/// tensors are not) or `immutable_type` (no attribute can be added to them).
/// `ImportError` in a subinterpreter: a tensor is released on any thread, which can
/// attach to the main interpreter only.
pub fn install<T: ExportClass>(py: Python<'_>) -> PyResult<()> {
    builder::class::<T>().install(py)
}
