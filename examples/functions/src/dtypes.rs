//! Functions for several dtypes: one body for each of them, and values that are converted while they
//! are read.

use dlpack_traits::python::{AnyElement, IntoPython, PyTensor, PyTensorMut, dispatch};
use dlpack_traits::{AnyBits, As, Lossy, OwnedTensor};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// `largest(x: float32[n] | float64[n] | int32[n]) -> float`
///
/// Returns the largest absolute value; 0 if there are no elements.
#[pyfunction]
pub(crate) fn largest(x: PyTensor<'_, AnyElement, 1>) -> PyResult<f64> {
    dispatch!(x: f32 | f64 | i32 => |x| Ok(largest_of(&x)))
}

fn largest_of<T: AnyBits + Into<f64>>(x: &PyTensor<'_, T, 1>) -> f64 {
    x.elements().iter().map(|value| value.into().abs()).fold(0.0, f64::max)
}

/// `add(x: float32[n] | float64[n], y: the dtype of x)`
///
/// Adds `y` to `x` in place.
#[pyfunction]
pub(crate) fn add(
    x: PyTensorMut<'_, AnyElement, 1>,
    y: PyTensor<'_, AnyElement, 1>,
) -> PyResult<()> {
    dispatch!((x, y): f32 | f64 => |mut x, y| add_to(&mut x, &y))
}

fn add_to<T: AnyBits + core::ops::Add<Output = T>>(
    x: &mut PyTensorMut<'_, T, 1>,
    y: &PyTensor<'_, T, 1>,
) -> PyResult<()> {
    if x.dims() != y.dims() {
        return Err(PyValueError::new_err("argument 'y': expected as many elements as `x` has"));
    }
    let sums: Vec<T> = x.elements().iter().zip(y.elements().iter()).map(|(x, y)| x + y).collect();
    Ok(x.elements_mut().copy_from_slice(&sums)?)
}

/// `means(x: number[rows, columns]) -> list[float]`
///
/// Returns the mean of each row of a matrix of any numeric dtype whose values a `float64` can have.
#[pyfunction]
pub(crate) fn means(x: PyTensor<'_, As<f64>, 2>) -> PyResult<Vec<f64>> {
    let [rows, columns] = x.dims();
    let mut means = Vec::with_capacity(rows);
    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53")]
    x.elements().for_each_row(|row| means.push(row.iter().sum::<f64>() / columns as f64))?;
    Ok(means)
}

/// `energy(x: real[...]) -> float`
///
/// Returns the sum of the squares, computed in `float32`, of any integers and floats.
#[pyfunction]
pub(crate) fn energy(py: Python<'_>, x: PyTensor<'_, As<f32, Lossy>>) -> PyResult<f32> {
    let mut sum = 0.0;
    py.detach(|| x.elements().for_each_block(|block| sum += crate::squares(block)))?;
    Ok(sum)
}

/// `is_finite(x: float32[n]) -> bool[n]`
///
/// Returns which elements are finite, in an array of the caller's library. A `PyLike` would have the type of
/// `x` in the stub, with its dtype.
#[pyfunction]
pub(crate) fn is_finite<'py>(
    py: Python<'py>,
    x: PyTensor<'py, f32, 1>,
) -> PyResult<Bound<'py, PyAny>> {
    let are_finite = x.elements().iter().map(f32::is_finite).collect();
    Ok(OwnedTensor::from_vec(are_finite).into_object_like(py, &x)?.into())
}

/// The alternative to [`dispatch!`]: an enum, which imports the argument once for each variant that does
/// not fit.
#[derive(FromPyObject)]
pub(crate) enum Signal<'py> {
    Single(PyTensor<'py, f32, 1>),
    Double(PyTensor<'py, f64, 1>),
}

/// `bits(x: float32[n] | float64[n]) -> int`
///
/// Returns the number of bits of all elements.
#[pyfunction]
pub(crate) fn bits(x: Signal<'_>) -> usize {
    match x {
        Signal::Single(x) => 32 * x.dims()[0],
        Signal::Double(x) => 64 * x.dims()[0],
    }
}
