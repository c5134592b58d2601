//! The extension module `row_kernels`: the norms of rows, their gradient, and a function that
//! changes a matrix in place.

#![deny(unsafe_code)]

mod real;

use dlpack_traits::OwnedTensor;
use dlpack_traits::python::{
    self, AnyElement, IntoPython, PyLike, PyOutput, PyTensor, PyTensorMut, dispatch,
};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use real::Real;

/// `row_norms(matrix: float32[rows, columns] | float64[rows, columns]) -> the dtype of matrix[rows]`
///
/// Returns the Euclidean norm of each row.
#[pyfunction]
fn row_norms<'py>(py: Python<'py>, matrix: PyTensor<'py, AnyElement, 2>) -> PyResult<PyLike<'py>> {
    dispatch!(matrix: f32 | f64 => |matrix| norms_of(py, &matrix))
}

fn norms_of<'py, T: Real>(py: Python<'py>, matrix: &PyTensor<'py, T, 2>) -> PyResult<PyLike<'py>> {
    let mut norms = Vec::with_capacity(matrix.dims()[0]);
    // Other Python threads run meanwhile.
    py.detach(|| matrix.elements().for_each_row(|row| norms.push(T::norm(row))))?;
    OwnedTensor::from_vec(norms).into_object_like(py, matrix)
}

/// `row_norms_backward(matrix, norms[rows], gradient[rows]) -> the dtype of matrix[rows, columns]`
///
/// Returns the gradient of a loss with respect to the matrix, from that with respect to the norms:
/// `gradient / norms * matrix`, and 0 for rows of norm 0.
#[pyfunction]
fn row_norms_backward<'py>(
    py: Python<'py>,
    matrix: PyTensor<'py, AnyElement, 2>,
    norms: PyTensor<'py, AnyElement, 1>,
    gradient: PyTensor<'py, AnyElement, 1>,
) -> PyResult<Bound<'py, PyAny>> {
    dispatch!((matrix, norms, gradient): f32 | f64 => |matrix, norms, gradient| {
        backward_of(py, &matrix, &norms, &gradient)?.into_bound_py_any(py)
    })
}

fn backward_of<'py, T: Real>(
    py: Python<'py>,
    matrix: &PyTensor<'py, T, 2>,
    norms: &PyTensor<'py, T, 1>,
    gradient: &PyTensor<'py, T, 1>,
) -> PyResult<PyOutput<'py, T>> {
    let [rows, columns] = matrix.dims();
    if norms.dims() != [rows] || gradient.dims() != [rows] {
        return Err(PyValueError::new_err("expected a norm and a gradient for each row"));
    }
    let mut result = python::allocate_output::<T>(py, matrix, matrix.shape())?;
    let elements = result.as_mut_slice();
    py.detach(|| -> PyResult<()> {
        matrix.elements().copy_to_slice(elements)?;
        let factors = gradient.elements().iter().zip(norms.elements().iter());
        for (row, (gradient, norm)) in elements.chunks_exact_mut(columns.max(1)).zip(factors) {
            let factor = if norm > T::ZERO { gradient / norm } else { T::ZERO };
            for value in row {
                *value = *value * factor;
            }
        }
        Ok(())
    })?;
    Ok(result)
}

/// `normalize_rows(matrix: float32[rows, columns] | float64[rows, columns])`
///
/// Divides each row by its norm, in place. Rows of zeros stay as they are.
#[pyfunction]
fn normalize_rows(matrix: PyTensorMut<'_, AnyElement, 2>) -> PyResult<()> {
    dispatch!(matrix: f32 | f64 => |mut matrix| normalize(&mut matrix))
}

fn normalize<T: Real>(matrix: &mut PyTensorMut<'_, T, 2>) -> PyResult<()> {
    Ok(matrix.elements_mut().update_rows(|row| {
        let norm = T::norm(row);
        if norm > T::ZERO {
            for value in row {
                *value = *value / norm;
            }
        }
    })?)
}

/// Functions over the rows of matrices.
#[pymodule]
mod row_kernels {
    #[pymodule_export]
    use super::{normalize_rows, row_norms, row_norms_backward};
}
