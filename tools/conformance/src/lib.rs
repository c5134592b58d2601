//! The extension module `dlpack_conformance._native`: every case of
//! `dlpack_hostile` as an object of Python's.

#[cfg(target_os = "linux")]
mod capsule;
#[cfg(target_os = "linux")]
mod play;
#[cfg(target_os = "linux")]
mod producer;
#[cfg(target_os = "linux")]
mod read;
#[cfg(target_os = "linux")]
mod table;
#[cfg(target_os = "linux")]
mod trial;

use pyo3::prelude::*;

#[cfg(not(target_os = "linux"))]
#[pymodule]
fn _native(_: &Bound<'_, PyModule>) -> PyResult<()> {
    Err(pyo3::exceptions::PyImportError::new_err(
        "the cases lie in memory that cannot be read, which is written for Linux only",
    ))
}

/// The module.
#[cfg(target_os = "linux")]
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add_class::<trial::PyTrial>()?;
    m.add_class::<play::Play>()?;
    m.add_function(wrap_pyfunction!(trial::trials, m)?)?;
    m.add_function(wrap_pyfunction!(trial::clauses, m)?)?;
    m.add_function(wrap_pyfunction!(read::read, m)?)
}
