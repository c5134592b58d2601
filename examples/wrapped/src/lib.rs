//! Types of three crates as tensors: one that implements `DLPackExport`, one that can be
//! borrowed as a slice, and one whose memory is behind a lock.

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
