//! Reading what an importer made: [`read`].

use dlpack_traits::python;
use pyo3::prelude::*;

/// Shape, element type and the bits of all elements, in row-major order, of any
/// object that exports a tensor on the host.
#[pyfunction]
pub(crate) fn read(object: &Bound<'_, PyAny>) -> PyResult<(Vec<i64>, String, Vec<u64>)> {
    let tensor = python::from_dlpack(object)?;
    let codes = tensor.raw_bits()?.iter().collect();
    Ok((tensor.shape().to_vec(), tensor.dtype().to_string(), codes))
}
