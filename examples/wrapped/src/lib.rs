//! Types of three crates as tensors: one that has an implementation, one that lends a
//! slice, and one that keeps its memory behind a lock.

mod activations;
mod field;
mod photo;

use pyo3::prelude::*;

#[pymodule]
fn dlpack_wrapped(m: &Bound<'_, PyModule>) -> PyResult<()> {
    dlpack_traits::python::add_class::<field::Field>(m)?;
    dlpack_traits::python::add_class::<photo::Photo>(m)?;
    dlpack_traits::python::add_class::<activations::Activations>(m)
}
