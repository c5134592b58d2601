//! Classes that cannot be registered.

use dlpack_traits::{DLPackExport, python};
use pyo3::prelude::*;

#[pyclass(unsendable)]
#[derive(DLPackExport)]
struct Unsendable {
    data: Vec<f32>,
    shape: [i64; 1],
}

// The stable ABI has no immutable classes before 3.14.
#[cfg_attr(feature = "abi3", pyclass(frozen))]
#[cfg_attr(not(feature = "abi3"), pyclass(frozen, immutable_type))]
#[derive(DLPackExport)]
struct ImmutableType {
    data: Vec<f32>,
    shape: [i64; 1],
}

/// Registers a class that was declared `unsendable`.
#[pyfunction]
pub(crate) fn add_unsendable(module: &Bound<'_, PyModule>) -> PyResult<()> {
    python::add_class::<Unsendable>(module)
}

/// Registers a class that was declared `immutable_type`.
#[pyfunction]
pub(crate) fn add_immutable_type(module: &Bound<'_, PyModule>) -> PyResult<()> {
    python::add_class::<ImmutableType>(module)
}
