//! Functions of elements as functions of arrays.

use dlpack_traits::Complex;
use dlpack_traits::python::{Operand, PyLike, PyTensorMut, elementwise};
use half::f16;
use pyo3::prelude::*;

/// `hypot(x, y, *, out=None, threads=1)`
///
/// Returns the length of the hypotenuse of each pair, in the library of the first array. Arrays are
/// broadcast; `float16` and `float32` are computed in `float32`, other numbers in `float64`.
#[pyfunction]
#[pyo3(signature = (x, y, *, out=None, threads=1))]
fn hypot<'py>(
    py: Python<'py>,
    x: Operand<'py>,
    y: Operand<'py>,
    out: Option<PyTensorMut<'py>>,
    threads: usize,
) -> PyResult<PyLike<'py>> {
    elementwise(py, [x, y]).out(out).threads(threads).with(f32::hypot).with(f64::hypot).finish()
}

/// `sum(x, y, *, out=None, threads=1)`
///
/// Returns the sum of each pair of integers, floats or complex numbers; integers wrap.
#[pyfunction]
#[pyo3(signature = (x, y, *, out=None, threads=1))]
fn sum<'py>(
    py: Python<'py>,
    x: Operand<'py>,
    y: Operand<'py>,
    out: Option<PyTensorMut<'py>>,
    threads: usize,
) -> PyResult<PyLike<'py>> {
    let complex = |x: Complex<f64>, y: Complex<f64>| Complex { re: x.re + y.re, im: x.im + y.im };
    elementwise(py, [x, y])
        .out(out)
        .threads(threads)
        .with(u8::wrapping_add)
        .with(i64::wrapping_add)
        .with(|x: f32, y: f32| x + y)
        .with(|x: f64, y: f64| x + y)
        .with(complex)
        .finish()
}

/// `within(x, low, high)`
///
/// Returns whether each element is in a range, as `bool`s.
#[pyfunction]
fn within<'py>(
    py: Python<'py>,
    x: Operand<'py>,
    low: Operand<'py>,
    high: Operand<'py>,
) -> PyResult<PyLike<'py>> {
    elementwise(py, [x, low, high])
        .with(|x: f32, low: f32, high: f32| low <= x && x <= high)
        .with(|x: f64, low: f64, high: f64| low <= x && x <= high)
        .finish()
}

/// `power(x, n, *, out=None)`
///
/// Returns each `float64` to the power of an integer of at most 32 bits.
#[pyfunction]
#[pyo3(signature = (x, n, *, out=None, threads=1))]
fn power<'py>(
    py: Python<'py>,
    x: Operand<'py>,
    n: Operand<'py>,
    out: Option<PyTensorMut<'py>>,
    threads: usize,
) -> PyResult<PyLike<'py>> {
    elementwise(py, [x, n]).out(out).threads(threads).with(f64::powi).finish()
}

/// `halved(x)`
#[pyfunction]
fn halved<'py>(py: Python<'py>, x: Operand<'py>) -> PyResult<PyLike<'py>> {
    elementwise(py, [x]).with(|x: f32| x / 2.0).finish()
}

/// `doubled(x)`
///
/// `float16` is computed in `float16`, and other numbers in `float64`.
#[pyfunction]
fn doubled<'py>(py: Python<'py>, x: Operand<'py>) -> PyResult<PyLike<'py>> {
    elementwise(py, [x]).with(|x: f16| x + x).with(|x: f64| x + x).finish()
}

/// `checked(x, *, threads=1)`
///
/// Panics for a negative element.
#[pyfunction]
#[pyo3(signature = (x, *, threads=1))]
fn checked<'py>(py: Python<'py>, x: Operand<'py>, threads: usize) -> PyResult<PyLike<'py>> {
    let f = |x: f64| {
        assert!(x >= 0.0, "a negative element");
        x
    };
    elementwise(py, [x]).threads(threads).with(f).finish()
}

pub(crate) fn add(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let functions = PyModule::new(m.py(), "elementwise")?;
    functions.add_function(wrap_pyfunction!(hypot, &functions)?)?;
    functions.add_function(wrap_pyfunction!(sum, &functions)?)?;
    functions.add_function(wrap_pyfunction!(within, &functions)?)?;
    functions.add_function(wrap_pyfunction!(power, &functions)?)?;
    functions.add_function(wrap_pyfunction!(halved, &functions)?)?;
    functions.add_function(wrap_pyfunction!(doubled, &functions)?)?;
    functions.add_function(wrap_pyfunction!(checked, &functions)?)?;
    m.add_submodule(&functions)
}
