//! The extension module `array_functions`: functions that accept, change and return arrays
//! of NumPy, PyTorch and every other library that exports DLPack.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 passes converted arguments by value")]
#![deny(unsafe_code)]

mod dtypes;
mod elementwise;
mod generic;
mod on_device;
mod records;
mod several;

use dlpack_traits::python::{self, IntoPython, PyLike, PyOutput, PyTensor, PyTensorMut};
use dlpack_traits::{DataType, OwnedTensor};
use pyo3::prelude::*;

/// The sum of the squares of some elements.
fn squares(elements: &[f32]) -> f32 {
    elements.iter().map(|value| value * value).sum()
}

/// `row_norms(matrix: float32[rows, columns]) -> float32[rows]`
///
/// Returns the Euclidean norm of each row of a float32 matrix, in an array of the caller's
/// library.
#[pyfunction]
fn row_norms<'py>(py: Python<'py>, matrix: PyTensor<'py, f32, 2>) -> PyResult<PyLike<'py>> {
    let mut norms = Vec::with_capacity(matrix.dims()[0]);
    // Other Python threads run meanwhile.
    py.detach(|| matrix.elements().for_each_row(|row| norms.push(squares(row).sqrt())))?;
    OwnedTensor::from_vec(norms).into_object_like(py, &matrix)
}

/// A value in the range from `low` to `high`; NaN stays NaN, which `f32::max` would replace.
fn limited<T: PartialOrd>(value: T, low: T, high: T) -> T {
    let value = if value < low { low } else { value };
    if value > high { high } else { value }
}

/// `clamp(array: float32[...] | float64[...], low: float, high: float)`
///
/// Limits each element of a float32 or float64 array to the range from `low` to `high`, in
/// place.
#[pyfunction]
fn clamp(py: Python<'_>, mut array: PyTensorMut<'_>, low: f64, high: f64) -> PyResult<()> {
    match array.dtype() {
        DataType::F32 => {
            #[expect(clippy::cast_possible_truncation, reason = "the array has this precision")]
            let (low, high) = (low as f32, high as f32);
            array.elements_mut::<f32>()?.map_in_place(|value| limited(value, low, high));
        }
        DataType::F64 => {
            array.elements_mut::<f64>()?.map_in_place(|value| limited(value, low, high));
        }
        _ => return Err(array.dtype_error(py, "array", &[DataType::F32, DataType::F64])),
    }
    Ok(())
}

/// `normalized(matrix: float32[rows, columns]) -> float32[rows, columns]`
///
/// Returns a float32 matrix whose rows have norm 1, in an array of the caller's library.
/// Rows of zeros stay as they are.
#[pyfunction]
fn normalized<'py>(py: Python<'py>, matrix: PyTensor<'py, f32, 2>) -> PyResult<PyOutput<'py, f32>> {
    let [_, columns] = matrix.dims();
    let mut result = python::allocate_output::<f32>(py, &matrix, matrix.shape())?;
    let elements = result.as_mut_slice();
    py.detach(|| -> PyResult<()> {
        matrix.elements().copy_to_slice(elements)?;
        for row in elements.chunks_exact_mut(columns.max(1)) {
            let norm = squares(row).sqrt();
            if norm > 0.0 {
                for value in row {
                    *value /= norm;
                }
            }
        }
        Ok(())
    })?;
    Ok(result)
}

/// Functions over arrays.
#[pymodule]
mod array_functions {
    #[pymodule_export]
    use super::{
        clamp,
        dtypes::{add, bits, energy, is_finite, largest, means},
        elementwise::hypot,
        generic::transposed,
        normalized,
        on_device::axpy,
        records::{Particles, heaviest, scale_masses, total_mass},
        row_norms,
        several::{Mesh, peaks, times},
    };
}
