//! The functions of `examples/functions`, written with rust-numpy.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2, PyReadwriteArrayDyn};
use pyo3::prelude::*;

/// The sum of the squares of some elements.
fn squares<'a>(elements: impl IntoIterator<Item = &'a f32>) -> f32 {
    elements.into_iter().map(|value| value * value).sum()
}

/// Returns the Euclidean norm of each row of a float32 matrix.
#[pyfunction]
fn row_norms<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'py, f32>,
) -> Bound<'py, PyArray1<f32>> {
    let rows = matrix.as_array();
    // Other Python threads run meanwhile.
    let norms: Vec<f32> =
        py.detach(|| rows.rows().into_iter().map(|row| squares(row).sqrt()).collect());
    norms.into_pyarray(py)
}

#[derive(FromPyObject)]
enum Floats<'py> {
    Single(PyReadwriteArrayDyn<'py, f32>),
    Double(PyReadwriteArrayDyn<'py, f64>),
}

/// A value in the range from `low` to `high`; NaN stays NaN, which `f32::max` would replace.
fn limited<T: PartialOrd>(value: T, low: T, high: T) -> T {
    let value = if value < low { low } else { value };
    if value > high { high } else { value }
}

/// Limits each element of a float32 or float64 array to the range from `low` to `high`, in
/// place.
#[pyfunction]
fn clamp(array: Floats<'_>, low: f64, high: f64) {
    match array {
        Floats::Single(mut array) => {
            let (low, high) = (low as f32, high as f32);
            array.as_array_mut().mapv_inplace(|value| limited(value, low, high));
        }
        Floats::Double(mut array) => {
            array.as_array_mut().mapv_inplace(|value| limited(value, low, high));
        }
    }
}

/// Returns a float32 matrix whose rows have norm 1. Rows of zeros stay as they are.
#[pyfunction]
fn normalized<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'py, f32>,
) -> Bound<'py, PyArray2<f32>> {
    let rows = matrix.as_array();
    let result = py.detach(|| {
        let mut result = rows.as_standard_layout().into_owned();
        for mut row in result.rows_mut() {
            let norm = squares(&row).sqrt();
            if norm > 0.0 {
                row /= norm;
            }
        }
        result
    });
    result.into_pyarray(py)
}

/// Functions over arrays.
#[pymodule]
fn array_functions_rust_numpy(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(row_norms, m)?)?;
    m.add_function(wrap_pyfunction!(clamp, m)?)?;
    m.add_function(wrap_pyfunction!(normalized, m)?)
}
