//! Functions of elements, as functions of arrays that broadcast.

use dlpack_traits::python::{Operand, PyLike, PyTensorMut, elementwise};
use pyo3::prelude::*;

/// `hypot(x, y, *, out=None, threads=1)`
///
/// Returns the length of the hypotenuse of each pair, in the library of the first array. Arrays are
/// broadcast; `float16` and `float32` are computed in `float32`, other numbers in `float64`.
#[pyfunction]
#[pyo3(signature = (x, y, *, out=None, threads=1))]
pub(crate) fn hypot<'py>(
    py: Python<'py>,
    x: Operand<'py>,
    y: Operand<'py>,
    out: Option<PyTensorMut<'py>>,
    threads: usize,
) -> PyResult<PyLike<'py>> {
    elementwise(py, [x, y]).out(out).threads(threads).with(f32::hypot).with(f64::hypot).finish()
}
